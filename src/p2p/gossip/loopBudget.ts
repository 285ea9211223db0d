import { DeviumError } from '../../lib/errors.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import { createSemaphore } from '../../lib/semaphore.ts'

/** Error code when too many messages are waiting. */
export const GOSSIP_OVERLOADED = 'gossip-overloaded'
/** Milliseconds of gossip work in one iteration of the event loop. The rest is for other work. */
const BUDGET_MS = 4
/** Estimated time that the library needs for each message. */
const LIBRARY_MS = 0.05

/**
 * Spreads gossip messages over iterations of the event loop. Without it the library handles all messages of a packet in
 * one iteration. After `BUDGET_MS` the remaining messages wait, one iteration each; more than `maxWaiting` are refused.
 * Other work in the same iteration does not count: otherwise a busy process would forward blocks late.
 */
export function createLoopBudget(maxWaiting = 1024, now: () => number = () => performance.now()) {
  let spentMs = 0
  let isCounting = false
  const waiting = createSemaphore(1)

  const hasTime = (): boolean => spentMs < BUDGET_MS
  const spend = (ms: number): void => {
    spentMs += ms
    if (isCounting) return
    isCounting = true
    setImmediate(() => {
      isCounting = false
      spentMs = 0
    })
  }
  return {
    /** Undefined: continue now. Throws when `maxWaiting` is reached; the message is then dropped without a penalty. */
    take(): Promise<void> | undefined {
      spend(LIBRARY_MS)
      if (hasTime() && waiting.active === 0) return undefined
      if (waiting.active + waiting.waiting >= maxWaiting)
        throw new DeviumError(GOSSIP_OVERLOADED, 'too many gossip messages at once')
      return waiting.run(nextTurn)
    },
    /** Runs synchronous work and counts its time. */
    measure<T>(work: () => T): T {
      const startedMs = now()
      try {
        return work()
      } finally {
        spend(now() - startedMs)
      }
    },
  }
}
