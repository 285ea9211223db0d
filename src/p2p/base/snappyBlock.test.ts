import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { compressSnappy, snappyDeclaredLength, uncompressNatively, uncompressSnappy } from './snappyBlock.ts'

const MAX = 1_000_000

/** The bytes, or that they are damaged: both ways must say the same. */
function bothWays(block: Uint8Array): [string, string] {
  const said = (read: () => Uint8Array): string => {
    try {
      return toHex(read())
    } catch (error) {
      if (error instanceof DecodeError) return 'damaged'
      throw error
    }
  }
  return [said(() => uncompressSnappy(block, MAX)), said(() => uncompressNatively(block, snappyDeclaredLength(block)))]
}

/** Runs of all kinds of repetition: bytes, short and long patterns, noise. */
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
  it('undoes compression', () => {
    fc.assert(
      fc.property(data, (plain) => {
        expect(toHex(uncompressSnappy(compressSnappy(plain), MAX))).toBe(toHex(plain))
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it('says of damaged blocks what the native library says', () => {
    fc.assert(
      fc.property(data, fc.nat(), fc.integer({ min: 1, max: 255 }), (plain, at, mask) => {
        const block = Uint8Array.from(compressSnappy(plain))
        const index = at % block.length
        // Another length would have the native library allocate what it says.
        fc.pre(index > block.findIndex((byte) => byte < 0x80))
        block[index] = (block[index] ?? 0) ^ mask
        const [ours, native] = bothWays(block)
        expect(ours).toBe(native)
      }),
      { numRuns: propertyRuns(1000) },
    )
  })

  it('says of elements of any kind what the native library says', () => {
    const copy = (kind: number, maxSize: number, tail: (distance: number) => number[], base = 1) =>
      fc
        .tuple(fc.nat(maxSize), fc.integer({ min: 0, max: 60 }))
        .map(([size, distance]) => ({ size: size + base, bytes: [kind | (size << 2), ...tail(distance)] }))
    const element = fc.oneof(
      fc
        .uint8Array({ minLength: 1, maxLength: 60 })
        .map((bytes) => ({ size: bytes.length, bytes: [(bytes.length - 1) << 2, ...bytes] })),
      copy(1, 7, (distance) => [distance], 4),
      copy(2, 63, (distance) => [distance, 0]),
      copy(3, 63, (distance) => [distance, 0, 0, 0]),
    )
    let good = 0
    fc.assert(
      fc.property(fc.array(element, { maxLength: 6 }), fc.constantFrom(0, 0, 0, 1), (elements, more) => {
        const declared = elements.reduce<number>((sum, { size }) => sum + size, more)
        const length = declared < 128 ? [declared] : [(declared & 0x7f) | 0x80, declared >> 7]
        const [ours, native] = bothWays(Uint8Array.from([...length, ...elements.flatMap(({ bytes }) => bytes)]))
        expect(ours).toBe(native)
        if (ours !== 'damaged') good += 1
      }),
      { numRuns: propertyRuns(2000) },
    )
    expect(good).toBeGreaterThan(0)
  })

  it.each([
    ['a literal of four length bytes that overflow', [4, 63 << 2, 0xff, 0xff, 0xff, 0xff, 1]],
    ['a literal longer than what is declared', [2, 2 << 2, 1, 2, 3]],
    ['a copy from before the beginning', [8, 0, 1, 1 | (3 << 2), 2]],
    ['a copy from nowhere', [8, 0, 1, 1 | (3 << 2), 0]],
    ['a copy whose distance is cut off', [8, 0, 1, 2 | (3 << 2), 1]],
    ['less than what is declared', [8, 0, 1]],
    ['more than what is declared', [1, 0, 1, 0, 2]],
    ['more than is allowed', [0xc1, 0x84, 0x3d, 0]],
    ['a length that does not end', [0xff, 0xff]],
    ['a length of more than 32 bits', [0xff, 0xff, 0xff, 0xff, 0x7f]],
  ])('refuses %s', (_id, bytes) => {
    expect(() => uncompressSnappy(Uint8Array.from(bytes), MAX)).toThrow(DecodeError)
  })

  it('refuses by its head a length that so few bytes cannot stand for: nothing is unpacked, no room is made', () => {
    const tenMebibytes = [0x80, 0x80, 0x80, 0x05]
    const block = Uint8Array.from([...tenMebibytes, 0])
    expect(() => uncompressSnappy(block, 10 * 1024 * 1024)).toThrow('10485760 bytes declared by a block of 5')
  })
})
