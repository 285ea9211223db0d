import { nextTurn } from './nextTurn.ts'

/**
 * The clock of rollup, p2p and batcher logic. It is injected so that tests can step it. Only `systemClock` and the
 * composition roots use the real time.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Runs `callback` once after `delayMs`; the returned function cancels. */
  setTimeout(callback: () => void, delayMs: number): () => void
}

/** The maximum delay of Node's timers (24 days). Node runs a timer with a longer delay after 1 ms. */
export const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(callback, delayMs) {
    const handle = setTimeout(callback, Math.min(delayMs, MAX_DELAY_MS))
    return () => clearTimeout(handle)
  },
}

/** Aborts after the real time, at most 24 days. */
export function timeoutSignal(timeoutMs: number): AbortSignal {
  return AbortSignal.timeout(Math.min(timeoutMs, MAX_DELAY_MS))
}

/** Whole seconds since the Unix epoch, the resolution of block timestamps. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}

/** Resolves after `delayMs`; rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, delayMs)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** A clock that moves only when a test advances it. Due callbacks run in the order of their time. */
export class ManualClock implements Clock {
  private nowMs: number
  private timers: { at: number; callback: () => void }[] = []

  constructor(nowMs = 0) {
    this.nowMs = nowMs
  }

  now(): number {
    return this.nowMs
  }

  setTimeout(callback: () => void, delayMs: number): () => void {
    const timer = { at: this.nowMs + Math.max(0, delayMs), callback }
    this.timers.push(timer)
    return () => {
      this.timers = this.timers.filter((other) => other !== timer)
    }
  }

  /** Advances time and runs due callbacks. It awaits a macrotask after each callback, so that promise chains settle. */
  async advance(deltaMs: number): Promise<void> {
    const target = this.nowMs + deltaMs
    for (;;) {
      const due = this.timers.filter((timer) => timer.at <= target).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.timers = this.timers.filter((timer) => timer !== due)
      this.nowMs = Math.max(this.nowMs, due.at)
      due.callback()
      await nextTurn()
    }
    this.nowMs = target
    await nextTurn()
  }
}
