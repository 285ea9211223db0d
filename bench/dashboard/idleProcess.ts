import { answerCalls } from '../p2p/calls.ts'
import { measureLoopDelay } from '../p2p/measures.ts'

// A process that only measures its event loop delay. This delay comes from the machine, and the node's figure contains it too.

let lately = measureLoopDelay()
let whole = measureLoopDelay()

const calls = {
  begin(): void {
    lately = measureLoopDelay()
    whole = measureLoopDelay()
  },
  /** Milliseconds since the last call. */
  latelyMs(): number {
    const delayMs = lately()
    lately = measureLoopDelay()
    return delayMs
  },
  /** Milliseconds since the start. Ends the measurement. */
  wholeMs: () => whole(),
}

export type IdleCalls = typeof calls
answerCalls(calls)
