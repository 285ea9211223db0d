import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { compressSnappy, snappyDeclaredLength, uncompressSnappy } from './snappyBlock.ts'

const MAX = 1_000_000

/** Data with all kinds of repetition: bytes, short and long patterns, noise. */
const data = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 200 }))
        .map(([pattern, times]) =>
          new Uint8Array(pattern.length * times).map((_, i) => pattern[i % pattern.length] ?? 0),
        ),
    ),
    { maxLength: 20 },
  )
  .map((parts) => new Uint8Array(Buffer.concat(parts)))

describe('uncompressSnappy', () => {
  it('decompresses what compressSnappy returned', () => {
    fc.assert(
      fc.property(data, (plain) => {
        expect(toHex(uncompressSnappy(compressSnappy(plain), MAX))).toBe(toHex(plain))
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it('returns the declared length or throws a DecodeError, whichever byte of a block is changed', () => {
    fc.assert(
      fc.property(data, fc.nat(), fc.integer({ min: 1, max: 255 }), (plain, at, mask) => {
        const block = Uint8Array.from(compressSnappy(plain))
        const index = at % block.length
        block[index] = (block[index] ?? 0) ^ mask
        try {
          expect(uncompressSnappy(block, MAX)).toHaveLength(snappyDeclaredLength(block))
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
      { numRuns: propertyRuns(1000) },
    )
  })

  it.each([
    ['a literal with four length bytes that overflow', [4, 63 << 2, 0xff, 0xff, 0xff, 0xff, 1]],
    ['a literal longer than the declared length', [2, 2 << 2, 1, 2, 3]],
    ['a copy from before the beginning', [8, 0, 1, 1 | (3 << 2), 2]],
    ['a copy with distance zero', [8, 0, 1, 1 | (3 << 2), 0]],
    ['a copy whose distance is cut off', [8, 0, 1, 2 | (3 << 2), 1]],
    ['less data than declared', [8, 0, 1]],
    ['more data than declared', [1, 0, 1, 0, 2]],
    ['a declared length above the limit', [0xc1, 0x84, 0x3d, 0]],
    ['an endless length', [0xff, 0xff]],
    ['a length of more than 32 bits', [0xff, 0xff, 0xff, 0xff, 0x7f]],
  ])('refuses %s', (_id, bytes) => {
    expect(() => uncompressSnappy(Uint8Array.from(bytes), MAX)).toThrow(DecodeError)
  })

  it('refuses an impossible declared length without decompressing or allocating', () => {
    const tenMebibytes = [0x80, 0x80, 0x80, 0x05]
    const block = Uint8Array.from([...tenMebibytes, 0])
    expect(() => uncompressSnappy(block, 10 * 1024 * 1024)).toThrow(errorWith('decode', 10_485_760, 5))
  })
})
