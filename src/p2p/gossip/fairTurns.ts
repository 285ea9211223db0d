import { DeviumError } from '../../lib/errors.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import { createSemaphore } from '../../lib/semaphore.ts'

/** Code of what is thrown when too many messages wait. */
export const GOSSIP_OVERLOADED = 'gossip-overloaded'
/** Milliseconds of gossip work in one turn of the event loop; then everything else has its chance. */
const BUDGET_MS = 4
/** What the library does for each message before and after our part of the work, roughly. */
const LIBRARY_MS = 0.05

/**
 * Many small messages in one packet are handled in one turn of the event loop by the library. Once they have taken
 * their share of it, the rest waits, one turn each; more than `maxWaiting` are not let in. What else is done in the same
 * turn does not count: a busy process would pass blocks on late.
 */
export function createFairTurns(maxWaiting = 1024, now: () => number = () => performance.now()) {
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
    /** Undefined: go on now. Throws when too many wait already: the message is then dropped without blame. */
    take(): Promise<void> | undefined {
      spend(LIBRARY_MS)
      if (hasTime() && waiting.active === 0) return undefined
      if (waiting.active + waiting.waiting >= maxWaiting)
        throw new DeviumError(GOSSIP_OVERLOADED, 'too many gossip messages at once')
      return waiting.run(nextTurn)
    },
    /** Does a part of the work, and counts its time until it returns. */
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
