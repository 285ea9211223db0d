import type { DerivationFacts, DerivationState } from './derivationStates.ts'
import { explainDerivation } from './explainDerivation.ts'

/** States that need no action. */
const GOOD_STATES: ReadonlySet<DerivationState> = new Set([
  ...(['starting', 'following', 'catching-up', 'waiting-for-channel', 'waiting-for-batches', 'up-to-date'] as const),
])

/** The position of the safe head, and the reason for it. */
export interface DerivationStatus extends Omit<DerivationFacts, 'config' | 'batcher'> {
  state: DerivationState
  ok: boolean
  /** One to four sentences. */
  text: string
  /** The command that fixes the problem, if known. */
  command: string | undefined
  /** The last L1 block that may contain the batch of the next block; undefined until known. */
  windowEndsAt: number | undefined
}

export function derivationStatus(facts: DerivationFacts): DerivationStatus {
  const { config, batcher: _, ...rest } = facts
  const { state, text, command } = explainDerivation(facts)
  const windowEndsAt = facts.safe === undefined ? undefined : facts.safe.l1Origin.number + config.seqWindowSize
  return { ...rest, state, ok: GOOD_STATES.has(state), text, command, windowEndsAt }
}
