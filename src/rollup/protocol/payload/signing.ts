import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'

/** The domain of block payload signatures is 32 zero bytes (specs: rollup-node-p2p, "Block signatures"). */
const DOMAIN_BYTES = 32

/** domain ‖ chain id ‖ room for a payload's hash, of the chain that was asked for last. */
let signed: { chainId: bigint; bytes: Uint8Array } | undefined

/**
 * What a sequencer signs for a gossiped block. `payloadHash` is keccak256 of the gossip body (payload SSZ, led by the
 * parent beacon block root from v3 on). Throws RangeError for a chain id wider than 256 bits.
 */
export function payloadSigningHash(chainId: bigint, payloadHash: Uint8Array): Uint8Array {
  if (signed?.chainId !== chainId) {
    const bytes = concatBytes(new Uint8Array(DOMAIN_BYTES), bigIntToBytes(chainId, 32), new Uint8Array(32))
    signed = { chainId, bytes }
  }
  signed.bytes.set(payloadHash, DOMAIN_BYTES + 32)
  return keccak256(signed.bytes)
}

/** As payloadSigningHash, from the body itself. */
export function payloadSigningHashOfBody(chainId: bigint, body: Uint8Array): Uint8Array {
  return payloadSigningHash(chainId, keccak256(body))
}
