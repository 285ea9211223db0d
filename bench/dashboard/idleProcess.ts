import { answerCalls } from '../p2p/calls.ts'
import { measureLoopDelay } from '../p2p/measures.ts'

// A process that does nothing but look at how late its event loop is: what it sees is the machine's doing, and the node beside
// it has that in its own figure.

let lately = measureLoopDelay()
let whole = measureLoopDelay()

const calls = {
  begin(): void {
    lately = measureLoopDelay()
    whole = measureLoopDelay()
  },
  /** Milliseconds, since it was asked last. */
  latelyMs(): number {
    const delayMs = lately()
    lately = measureLoopDelay()
    return delayMs
  },
  /** Milliseconds, since the beginning, which ends it. */
  wholeMs: () => whole(),
}

export type IdleCalls = typeof calls
answerCalls(calls)
