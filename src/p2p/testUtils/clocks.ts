import { type Clock, systemClock } from '../../lib/clock.ts'
import { LOADING_MS, STUCK_MS, TIME_LIMIT_MS } from '../inspection/inspectionProcess.ts'

/** The system's clock, but for the limits of large messages and answers: these never run out, however slow this machine. */
export const unhurriedClock = (): Clock => steppedTimers(TIME_LIMIT_MS, STUCK_MS, LOADING_MS).clock

/** The system's clock, but for timers of these lengths: they are due when the test says so, if ever. */
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

/** A clock that tells another time than this one, as after somebody has set it; its timers are due as they were. */
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
 * As `unhurriedClock`, which tells the same time for as long as `during` takes: what somebody may do in a second is then
 * used up however slow this machine is.
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
