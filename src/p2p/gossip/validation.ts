import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { type BlockValidator, createBlockValidator, createQuestions } from './blockValidator.ts'
import { createInspectionProcess, type InspectionProcess } from './inspectionProcess.ts'
import { createMessageIds, type MessageIds } from './messageId.ts'
import { createSeenBlocks } from './seenBlocks.ts'
import { createSigners } from './signers.ts'
import type { ChainTopics } from './topics.ts'

/** What becomes of a gossip message before it travels on: it is named, then judged. */
export interface Validation {
  ids: MessageIds
  validate: BlockValidator
  /** For large messages, and for large blocks that come on request. */
  inspector: InspectionProcess
  /** Ends the process for large messages. */
  close(): Promise<void>
}

export function createValidation(
  modules: {
    config: RollupConfig
    clock: Clock
    logger: Logger
    topics: Pick<ChainTopics, 'versionOf'>
    signer: () => Hex | undefined
  },
  options: { maxAgeS: number },
): Validation {
  const { config, clock, logger, topics } = modules
  const signers = createSigners({ current: modules.signer, clock })
  const questions = createQuestions({ config, clock, signers }, options)
  const inspector = createInspectionProcess({ clock, logger })
  return {
    ids: createMessageIds({
      inspector,
      question(topic) {
        const version = topics.versionOf(topic)
        if (version === undefined) throw new DeviumError('gossip-topic', `a message on ${topic}, which is not ours`)
        return questions(version)
      },
    }),
    validate: createBlockValidator({ config, clock, signers, seen: createSeenBlocks() }, options),
    inspector,
    close: inspector.close,
  }
}
