import { keccak256 } from './hash.ts'
import type { Hex } from './hex.ts'

/** The address in the mixed case of EIP-55. */
export function checksumAddress(address: Hex): Hex {
  const digits = address.slice(2).toLowerCase()
  const hash = keccak256(Buffer.from(digits))
  const mixed = [...digits].map((digit, index) => {
    const nibble = ((hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 0xf
    return nibble >= 8 ? digit.toUpperCase() : digit
  })
  return `0x${mixed.join('')}`
}
