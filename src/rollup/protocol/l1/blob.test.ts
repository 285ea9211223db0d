import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { BLOB_BYTES, decodeBlob, encodeBlob, MAX_BLOB_DATA_BYTES } from './blob.ts'

const SMALL = Uint8Array.from({ length: 300 }, (_, i) => 255 - (i % 256))
const SMALL_START =
  '240000012cfffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e534e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c524c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a52ca3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a89888786852584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867661564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847462544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827260424232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a0908070626050403020100fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e730e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4'
const FULL = Uint8Array.from({ length: MAX_BLOB_DATA_BYTES }, (_, i) => (7 * i + 3) % 256)

describe('blob', () => {
  it('has the reference encoding for a few bytes', () => {
    const blob = encodeBlob(SMALL)
    expect(toHex(blob.subarray(0, 307))).toBe(toHex(fromHex(SMALL_START)))
    expect(keccak256Hex(blob)).toBe('0x485ad27888bbd33654143edbe0ec294605b69c8e247d924b599311b67a8c9b59')
    expect(decodeBlob(blob)).toEqual(SMALL)
  })

  it('has the reference encoding for the maximum size', () => {
    const blob = encodeBlob(FULL)
    expect(keccak256Hex(blob)).toBe('0x2d4c5c681e7391a3b58b8929ab0f73da562c9f24c3d973a00f1471ccb8431a99')
    expect(toHex(blob.subarray(-32))).toBe('0x020e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0')
    expect(decodeBlob(blob)).toEqual(FULL)
    expect(() => encodeBlob(new Uint8Array(MAX_BLOB_DATA_BYTES + 1))).toThrow(RangeError)
  })

  const changed = (at: number, byte: number) => {
    const blob = encodeBlob(SMALL)
    blob[at] = byte
    return blob
  }
  it.each([
    ['another size', encodeBlob(SMALL).subarray(1)],
    ['another version', changed(1, 1)],
    ['a length above the maximum', changed(2, 2)],
    ['a field element that is too large', changed(32, 0x74)],
    ['data behind the length in the same round', changed(320, 1)],
    ['data in a later field element', changed(BLOB_BYTES - 1, 1)],
  ])('is refused with %s', (_, blob) => {
    expect(() => decodeBlob(blob)).toThrow(DecodeError)
  })

  it('survives encoding and decoding; changed bytes give other data or DecodeError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1000 }), fc.nat(1200), fc.nat(255), (data, at, byte) => {
        const blob = encodeBlob(data)
        expect(Buffer.compare(decodeBlob(blob), data)).toBe(0)
        blob[at] = byte
        expectDecodeErrorOrDone(() => expect(Buffer.compare(encodeBlob(decodeBlob(blob)), blob)).toBe(0))
      }),
    )
  })
})
