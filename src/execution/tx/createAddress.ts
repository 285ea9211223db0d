import { keccak256 } from '../../lib/hash.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import { encodeRlp } from '../../lib/rlp.ts'

/** Address of a contract created by a transaction: keccak256(rlp([sender, nonce])). */
export function createAddress(sender: Uint8Array, nonce: bigint): Hex {
  return toHex(keccak256(encodeRlp([sender, nonce])).subarray(12))
}
