import type { BlockHeader } from '../chain/block.ts'
import { type Patience, shortPatience, TooLongError } from '../evm/patience.ts'

/** How far a method that only reads may go where it runs. */
export interface Pace {
  /** Who ends what executes code, or goes through many blocks. */
  patience(signal: AbortSignal): Patience
  /** Throws TooLongError for a step of about so many microseconds, where that is too much at one go. */
  allow(microseconds: number): void
}

/** In a process of its own: until nobody waits for the answer. */
export const UNHURRIED: Pace = { patience: (signal) => signal, allow() {} }

/** What a method may take on the chain's own loop before it goes elsewhere. */
const SHORT_MS = 3
const LONGEST_STEP_US = 5_000

/** On the chain's own loop: what throws TooLongError is to be done elsewhere, from the beginning. */
export const HURRIED: Pace = {
  patience: () => shortPatience(SHORT_MS),
  allow(microseconds) {
    if (microseconds > LONGEST_STEP_US) throw new TooLongError(`a step of ${microseconds} us`)
  },
}

/** Reading a block's transactions, senders included, or its receipts with their L1 fees: 21,000 gas are 70 us at most. */
export function microsecondsOf({ gasUsed }: Pick<BlockHeader, 'gasUsed'>): number {
  return Number(gasUsed / 300n)
}
