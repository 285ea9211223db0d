import { keccak256 as viemKeccak256 } from 'viem'
import { describe, expect, it } from 'vitest'
import { keccak256 } from './hash.ts'
import { toHex } from './hex.ts'

const noise = (length: number): Uint8Array =>
  new Uint8Array(length).map((_, index) => ((index + length) * 2_654_435_761) >>> 13)

describe('keccak256', () => {
  it('hashes every length, including those with a separate code path', () => {
    for (const length of [...Array.from({ length: 300 }, (_, index) => index), 5_000, 131_071, 131_072, 131_073]) {
      expect(toHex(keccak256(noise(length)))).toBe(viemKeccak256(noise(length)))
    }
  })

  it('returns a new array for each hash', () => {
    const first = keccak256(noise(10))
    const text = toHex(first)
    keccak256(noise(20))
    expect(toHex(first)).toBe(text)
  })
})
