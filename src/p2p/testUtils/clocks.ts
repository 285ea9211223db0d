import { type Clock, systemClock } from '../../lib/clock.ts'
import { LOADING_MS, STUCK_MS, TIME_LIMIT_MS } from '../inspection/inspectionProcess.ts'

/**
 * The system clock without the time limits of large messages and answers: these never expire, however slow the machine
 * is.
 */
export const unhurriedClock = (): Clock => steppedTimers(TIME_LIMIT_MS, STUCK_MS, LOADING_MS).clock

/** The system clock, except for timers of these lengths, which fire only when the test says so. */
export function steppedTimers(...lengthsMs: readonly number[]): { clock: Clock; due(): void } {
  const waiting = new Set<() => void>()
  const clock: Clock = {
    ...systemClock,
    setTimeout(callback, delayMs) {
      if (!lengthsMs.includes(delayMs)) return systemClock.setTimeout(callback, delayMs)
      waiting.add(callback)
      return () => void waiting.delete(callback)
    },
  }
  const due = (): void => {
    const callbacks = [...waiting]
    waiting.clear()
    for (const callback of callbacks) callback()
  }
  return { clock, due }
}

/** A clock with an adjustable offset, as if the system time was set. Its timers are not affected. */
export function settableClock(inner: Clock = systemClock): { clock: Clock; set(byMs: number): void } {
  let setByMs = 0
  return {
    clock: { now: () => inner.now() + setByMs, setTimeout: (run, delayMs) => inner.setTimeout(run, delayMs) },
    set(byMs) {
      setByMs += byMs
    },
  }
}

/**
 * As `unhurriedClock`, but its time stops during `halt`. A budget for one second is then used up even on a slow
 * machine.
 */
export function haltableClock(): { clock: Clock; halt<T>(during: () => Promise<T>): Promise<T> } {
  let haltedAtMs: number | undefined
  return {
    clock: { ...unhurriedClock(), now: () => haltedAtMs ?? systemClock.now() },
    async halt(during) {
      haltedAtMs = systemClock.now()
      try {
        return await during()
      } finally {
        haltedAtMs = undefined
      }
    },
  }
}
