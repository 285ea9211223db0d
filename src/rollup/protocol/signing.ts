import { bigIntToBytes, concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'

/** 32 zero bytes: the domain of block payload signatures (specs: rollup-node-p2p, "Block signatures"). */
const SIGNING_DOMAIN = new Uint8Array(32)

/**
 * What a sequencer signs for a gossiped block. `payloadHash` is keccak256 of the gossip body (payload SSZ, led by the
 * parent beacon block root from v3 on). Throws RangeError for a chain id wider than 256 bits.
 */
export function payloadSigningHash(chainId: bigint, payloadHash: Uint8Array): Uint8Array {
  return keccak256(concatBytes(SIGNING_DOMAIN, bigIntToBytes(chainId, 32), payloadHash))
}

/** As payloadSigningHash, from the body itself. */
export function payloadSigningHashOfBody(chainId: bigint, body: Uint8Array): Uint8Array {
  return payloadSigningHash(chainId, keccak256(body))
}
