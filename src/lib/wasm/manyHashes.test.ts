import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keccak256, keccak256Hex } from '../hash.ts'
import { toHex } from '../hex.ts'
import { keccak256Many } from './manyHashes.ts'

const noise = (length: number): Uint8Array =>
  new Uint8Array(length).map((_, index) => ((index + length) * 2_654_435_761) >>> 13)

describe('keccak256Many', () => {
  it('hashes every length around the limits of a block', () => {
    const inputs = [0, 1, 31, 32, 127, 128, 134, 135, 136, 137, 271, 272, 273, 532, 1024].map(noise)
    expect(keccak256Many(inputs).map(toHex)).toEqual(inputs.map(keccak256Hex))
    for (const input of inputs) expect(keccak256Many([input])).toEqual([keccak256(input)])
    expect(keccak256Many([])).toEqual([])
  })

  it('hashes in order with short and long inputs mixed, and with many inputs', () => {
    const lengths = [5, 4_096, 4_097, 7, 100_000, 4_096, 4_096, 4_096, 4_096, 4_096, 4_096, 4_096, 4_096, 4_096]
    const inputs = [...lengths.map(noise), ...Array.from({ length: 200 }, (_, index) => noise(index))]
    expect(keccak256Many(inputs).map(toHex)).toEqual(inputs.map(keccak256Hex))
  })

  it('accepts inputs written to the same buffer one after the other', () => {
    const place = new Uint8Array(50)
    function* written() {
      for (let value = 0; value < 70; value++) yield place.fill(value)
    }
    const expected = Array.from({ length: 70 }, (_, value) => keccak256Hex(new Uint8Array(50).fill(value)))
    expect(keccak256Many(written()).map(toHex)).toEqual(expected)
  })

  it('returns separate arrays for any mix of lengths', () => {
    const before = keccak256Many([noise(40), noise(50)])
    const kept = before.map(toHex)
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 40 }), (inputs) => {
        expect(keccak256Many(inputs).map(toHex)).toEqual(inputs.map(keccak256Hex))
      }),
    )
    expect(before.map(toHex)).toEqual(kept)
  })
})
