import { nextTurn } from './largeMessages.ts'

/** Milliseconds of gossip work in one turn of the event loop; then everything else has its chance. */
const BUDGET_MS = 4

/**
 * Many small messages in one packet are handled in one turn of the event loop by the library. Once they have taken
 * their share of it, the rest waits, one turn each; more than `maxWaiting` are not let in.
 */
export interface FairTurns {
  /** Undefined: go on now. Throws when too many wait already: the message is then dropped without blame. */
  take(): Promise<void> | undefined
}

export function createFairTurns(maxWaiting = 1024, now: () => number = () => performance.now()): FairTurns {
  let turnStartedMs: number | undefined
  let waiting = 0
  let tail: Promise<void> = Promise.resolve()
  return {
    take() {
      if (turnStartedMs === undefined) {
        turnStartedMs = now()
        setImmediate(() => {
          turnStartedMs = undefined
        })
      }
      if (waiting === 0 && now() - turnStartedMs < BUDGET_MS) return undefined
      if (waiting >= maxWaiting) throw new Error('too many gossip messages at once')
      waiting += 1
      tail = tail.then(nextTurn)
      return tail.then(() => {
        waiting -= 1
      })
    },
  }
}
