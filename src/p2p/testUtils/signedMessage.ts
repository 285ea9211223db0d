import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { encodePayloadEnvelope } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { PayloadVersion } from '../base/topics.ts'
import { signPayloadHash } from '../signer/blockSigner.ts'

/** r ‖ s ‖ yParity ‖ body, before compression (specs: rollup-node-p2p, "Block encoding"). */
export function signedMessage(
  envelope: PayloadEnvelope,
  version: PayloadVersion,
  chainId: bigint,
  key: Uint8Array,
): Uint8Array {
  const body = encodePayloadEnvelope(envelope, version)
  return concatBytes(signPayloadHash(chainId, keccak256(body), key), body)
}
