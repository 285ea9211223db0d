import { nextTurn } from './nextTurn.ts'

/**
 * Time as rollup, p2p and batcher logic sees it. Injected everywhere, so that tests step it; only `systemClock` and
 * the composition roots touch the real one.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Runs `callback` once after `delayMs`; the returned function cancels. */
  setTimeout(callback: () => void, delayMs: number): () => void
}

/** The longest time that Node's timers know (24 days); they take what is longer for one millisecond. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(callback, delayMs) {
    const handle = setTimeout(callback, Math.min(delayMs, MAX_DELAY_MS))
    return () => clearTimeout(handle)
  },
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

/** A clock that stands still until a test moves it. Due callbacks run in order of their time. */
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

  /** Moves time on, running what becomes due; awaits a macrotask after each so that promise chains settle. */
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
