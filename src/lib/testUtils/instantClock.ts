import type { Clock } from '../clock.ts'

/** A clock on which nothing waits: each timer advances the time by its delay and runs at once. */
export function createInstantClock(): Clock {
  let nowMs = 0
  return {
    now: () => nowMs,
    setTimeout(callback, delayMs) {
      const timer = setImmediate(() => {
        nowMs += delayMs
        callback()
      })
      return () => clearImmediate(timer)
    },
  }
}
