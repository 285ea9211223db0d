import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { crc32c } from './crc32c.ts'

/** Bit by bit, as the polynomial is defined. */
function slowly(data: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of data) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}

describe('crc32c', () => {
  it.each([
    ['32 zero bytes', new Uint8Array(32), 0x8a9136aa],
    ['32 bytes of ones', new Uint8Array(32).fill(0xff), 0x62a8ab43],
    ['ascending bytes', Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
  ])('of %s is that of RFC 3720, B.4', (_id, data, expected) => {
    expect(crc32c(data)).toBe(expected)
  })

  it('is that of the definition for whatever bytes, wherever they begin', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(9), (bytes, skipped) => {
        const data = bytes.subarray(skipped)
        expect(crc32c(data)).toBe(slowly(data))
      }),
      { numRuns: 300 },
    )
  })
})
