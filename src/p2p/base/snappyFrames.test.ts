import fc from 'fast-check'
import { Decompressor } from 'snappy'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { throwsOnly } from '../testUtils/throwsOnly.ts'
import { decodeSnappyFrames, snappyFrameParts } from './snappyFrames.ts'

const LIMIT = 1_000_000

const encodeSnappyFrames = (data: Uint8Array): Uint8Array => concatBytes(...snappyFrameParts([data]))

describe('snappy frames', () => {
  it('encodes the identifier, an uncompressed chunk and a masked checksum', () => {
    // One incompressible byte: chunk type 1, 5 bytes, then crc32c("a") = 0xc1d04330 masked.
    const masked = (((0xc1d04330 >>> 15) | (0xc1d04330 << 17)) + 0xa282ead8) >>> 0
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(masked)
    expect(toHex(encodeSnappyFrames(Buffer.from('a')))).toBe(
      `0xff060000734e61507059${'01050000'}${bytes.toString('hex')}61`,
    )
  })

  it('encodes frames that the native library decodes', async () => {
    const data = new Uint8Array(200_000).map((_, index) => (index % 1000 < 500 ? 7 : (index * 2_654_435_761) >>> 13))
    const decompressor = new Decompressor()
    const parts = [decompressor.update(encodeSnappyFrames(data)), await decompressor.finish()]
    expect(Buffer.compare(Buffer.concat(parts), data)).toBe(0)
  })

  it.each([
    ['no identifier', '0x010500000000000061', 'identifier'],
    ['a wrong identifier', '0xff060000734e61507058', 'identifier'],
    ['a truncated chunk', '0xff060000734e6150705901050000', 'chunk'],
    ['a truncated chunk header', '0xff060000734e615070590105', 'chunk header'],
    ['a wrong checksum', '0xff060000734e61507059010500000000000061', 'checksum'],
    ['no checksum', '0xff060000734e61507059010200000000', 'checksum'],
    ['an unknown chunk type', '0xff060000734e61507059020500000000000061', 'chunk type 2'],
  ])('refuses frames with %s', (_id, hex, part) => {
    const bytes = new Uint8Array(Buffer.from(hex.slice(2), 'hex'))
    expect(() => decodeSnappyFrames(bytes, LIMIT)).toThrow(errorWith('decode', part))
  })

  it('encodes piece by piece, as data arrives', () => {
    const parts = [3 * 65_536, 70_000, 1].map((length) =>
      new Uint8Array(length).map((_, i) => (i * 2_654_435_761) >>> 13),
    )
    let made = 0
    const counted = function* () {
      for (const part of parts) {
        made += 1
        yield part
      }
    }
    const pieces = snappyFrameParts(counted())
    const { value: identifier } = pieces.next()
    if (identifier === undefined) throw new Error('no identifier')
    for (const [n, part] of parts.entries()) {
      expect(made).toBe(n)
      const { value: piece } = pieces.next()
      expect(decodeSnappyFrames(concatBytes(identifier, piece ?? identifier), 10 ** 6)).toEqual(part)
    }
  })

  it('skips padding chunks', () => {
    const framed = Buffer.concat([
      encodeSnappyFrames(Buffer.from('a')),
      Buffer.from('fe030000000000', 'hex'),
      encodeSnappyFrames(Buffer.from('b')),
    ])
    expect(Buffer.from(decodeSnappyFrames(framed, LIMIT)).toString()).toBe('ab')
  })

  it('stops at the size limit', () => {
    const framed = encodeSnappyFrames(new Uint8Array(70_000))
    expect(decodeSnappyFrames(framed, 70_000)).toHaveLength(70_000)
    expect(() => decodeSnappyFrames(framed, 69_999)).toThrow(DecodeError)
  })

  it('throws only DecodeErrors on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, identified) => {
        const input = identified ? Buffer.concat([Buffer.from('ff060000734e61507059', 'hex'), bytes]) : bytes
        throwsOnly([DecodeError], () => decodeSnappyFrames(input, LIMIT))
      }),
      { numRuns: propertyRuns(500) },
    )
  })
})
