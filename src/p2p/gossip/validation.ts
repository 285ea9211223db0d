import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { createInspectionProcess } from '../inspection/inspectionProcess.ts'
import { createBlockValidator, createValidationContexts } from './blockValidator.ts'
import { createMessageIds } from './knownMessages.ts'
import { createSeenBlocks } from './seenBlocks.ts'
import { createSigners } from './signers.ts'

/** Computes a message's id and validates it, before the message is forwarded. */
export type Validation = ReturnType<typeof createValidation>

export function createValidation(
  modules: {
    config: RollupConfig
    clock: Clock
    logger: Logger
    signer: () => Hex | undefined
    signal?: AbortSignal | undefined
  },
  options: { maxAgeS: number },
) {
  const { config, clock, logger } = modules
  const signers = createSigners({ current: modules.signer, clock })
  const inspector = createInspectionProcess({ clock, logger, signal: modules.signal })
  return {
    ids: createMessageIds({ inspector, context: createValidationContexts({ config, clock, signers }, options) }),
    validate: createBlockValidator({ config, clock, signers, seen: createSeenBlocks() }, options),
    /** For large messages, and for large blocks received by request. */
    inspector,
    close: inspector.close,
  }
}
