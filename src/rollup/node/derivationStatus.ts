import type { DerivationFacts, DerivationState } from './derivationStates.ts'
import { explainDerivation } from './explainDerivation.ts'

/** States in which nobody need do anything. */
const GOOD_STATES: ReadonlySet<DerivationState> = new Set([
  ...(['starting', 'following', 'catching-up', 'waiting-for-channel', 'waiting-for-batches', 'up-to-date'] as const),
])

/** Why the safe head stands where it does. */
export interface DerivationStatus extends Omit<DerivationFacts, 'config' | 'batcher'> {
  state: DerivationState
  ok: boolean
  /** One sentence. */
  text: string
  /** What ends it, where that is known. */
  command: string | undefined
  /** The last L1 block that may hold the batch of the block after the safe head; undefined before that is known. */
  windowEndsAt: number | undefined
}

export function derivationStatus(facts: DerivationFacts): DerivationStatus {
  const { config, batcher: _, ...rest } = facts
  const { state, text, command } = explainDerivation(facts)
  const windowEndsAt = facts.safe === undefined ? undefined : facts.safe.l1Origin.number + config.seqWindowSize
  return { ...rest, state, ok: GOOD_STATES.has(state), text, command, windowEndsAt }
}
