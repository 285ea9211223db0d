import { monitorEventLoopDelay } from 'node:perf_hooks'
import { answerCalls } from '../p2p/calls.ts'
import { LAG_TIMER_MS } from './lagTimer.ts'

// A process that does nothing but look at how late its event loop is: what it sees is the machine's doing, and the node beside
// it has that in its own figure.

const lately = monitorEventLoopDelay({ resolution: LAG_TIMER_MS })
const whole = monitorEventLoopDelay({ resolution: LAG_TIMER_MS })
const p99Ms = (histogram: ReturnType<typeof monitorEventLoopDelay>) =>
  Math.max(0, histogram.percentile(99) / 1e6 - LAG_TIMER_MS)

const calls = {
  begin(): void {
    for (const histogram of [lately, whole]) {
      histogram.enable()
      histogram.reset()
    }
  },
  /** Milliseconds: since it was asked last, and since the beginning. */
  loopDelay(): { latelyMs: number; wholeMs: number } {
    const delay = { latelyMs: p99Ms(lately), wholeMs: p99Ms(whole) }
    lately.reset()
    return delay
  },
}

export type IdleCalls = typeof calls
answerCalls(calls)
