import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { encodePayloadEnvelope } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import type { PayloadVersion } from '../base/topics.ts'
import { signPayloadHash } from '../signer/blockSigner.ts'
import { CHAIN_ID, SEQUENCER_KEY } from './testChain.ts'

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

/** The gossip encoding on the test's chain. */
export function gossipMessage(
  envelope: PayloadEnvelope,
  key: Uint8Array = SEQUENCER_KEY,
  version: PayloadVersion = 3,
): Uint8Array {
  return compressSnappy(signedMessage(envelope, version, CHAIN_ID, key))
}
