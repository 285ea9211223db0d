import { keccak256 } from '../lib/hash.ts'
import { fromHex, type Hex } from '../lib/hex.ts'

/**
 * Tests whether a block may have logs of one of these contracts, by the header's bloom filter (Yellow Paper, 4.3.1). A
 * negative answer is certain, a positive one is not.
 */
export function createBloomTest(addresses: readonly Hex[]): (bloom: Hex) => boolean {
  const wanted = addresses.map((address) => {
    const hash = keccak256(fromHex(address, 20))
    return [0, 2, 4].map((at) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047)
  })
  return (bloom) => wanted.some((bits) => bits.every((bit) => hasBit(bloom, bit)))
}

/** Bits are numbered from the end of the 256 bytes. */
function hasBit(bloom: Hex, bit: number): boolean {
  const digit = Number.parseInt(bloom[bloom.length - 1 - (bit >> 2)] ?? '0', 16)
  return ((digit >> (bit & 3)) & 1) === 1
}
