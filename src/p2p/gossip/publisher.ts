import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { encodePayloadEnvelope, payloadVersionAt } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'
import { P2pError } from '../base/errors.ts'
import type { BlockSigner } from '../signer/blockSigner.ts'
import type { GossipRouter } from './router.ts'

/** Debug log line with the block's number and hash, written after signing and before sending. */
export const PUBLISHING = 'Publishing signed execution payload'

/** Signs a block and publishes it on the topic for its timestamp. */
export function createPublisher(modules: {
  config: RollupConfig
  router: Pick<GossipRouter, 'publish'>
  logger: Logger
  metrics: { onPublishingError(): void }
  /** Undefined: this node cannot publish. */
  signer: BlockSigner | undefined
  /** The signer that L1 names; undefined: not known yet. */
  expectedSigner(): Hex | undefined
}) {
  const { config, router, logger, metrics, signer } = modules
  let warnedOf: Hex | undefined

  /** Warns once for each signer that L1 names. */
  const warnOfForeignSigner = (own: Hex): void => {
    const expected = modules.expectedSigner()
    if (expected === undefined || expected === warnedOf || expected.toLowerCase() === own.toLowerCase()) return
    warnedOf = expected
    logger.warn('L1 names another block signer than this node: peers reject its blocks', { signer: own, expected })
  }
  return {
    async publish(envelope: PayloadEnvelope): Promise<void> {
      const { blockHash, blockNumber, timestamp } = envelope.payload
      try {
        if (signer === undefined) {
          const hint = '--p2p.sequencer.key or --signer.endpoint'
          throw new P2pError('no-signer', `cannot publish payload ${blockHash}: the node has no signer (${hint})`)
        }
        const version = payloadVersionAt(config, timestamp)
        warnOfForeignSigner(signer.address)
        const body = encodePayloadEnvelope(envelope, version)
        const bytes = concatBytes(await signer.sign(keccak256(body)), body)
        logger.debug(PUBLISHING, { number: blockNumber, hash: blockHash })
        const peers = await router.publish(version, { bytes, blockTimeS: timestamp })
        logger.debug('Published signed execution payload', { number: blockNumber, hash: blockHash, peers })
      } catch (error) {
        metrics.onPublishingError()
        if (error instanceof P2pError) throw error
        throw new P2pError('publish-failed', `payload ${blockHash} could not be published`, { cause: error })
      }
    },
  }
}
