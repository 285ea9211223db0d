import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'

/** The domain of block payload signatures is 32 zero bytes (specs: rollup-node-p2p, "Block signatures"). */
const DOMAIN_BYTES = 32

/**
 * The hash that a sequencer signs for a gossiped block. `payloadHash` is keccak256 of the gossip body (payload SSZ,
 * since v3 after the parent beacon block root). Throws RangeError for a chain id above 256 bits.
 */
export function payloadSigningHash(chainId: bigint, payloadHash: Uint8Array): Uint8Array {
  return keccak256(concatBytes(new Uint8Array(DOMAIN_BYTES), bigIntToBytes(chainId, 32), payloadHash))
}

/** Like `payloadSigningHash`, computed from the body. */
export function payloadSigningHashOfBody(chainId: bigint, body: Uint8Array): Uint8Array {
  return payloadSigningHash(chainId, keccak256(body))
}
