import type { Clock } from '../clock.ts'

/** Nobody waits: time moves on by what is waited for, and by nothing else. */
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
