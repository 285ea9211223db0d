import type { Clock } from './clock.ts'

/**
 * Lets one loop sleep until an event. A wake-up during other work is kept: the next wait returns at once, so no event
 * is lost.
 */
export class WakeUp {
  private readonly clock: Clock
  private isPending = false
  private resume: (() => void) | undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Ends the current wait, or the next wait if there is none. */
  wake(): void {
    this.isPending = true
    this.resume?.()
  }

  /** Resolves at the next wake-up, after `timeoutMs` if given, or when the signal aborts. Never rejects. */
  async wait(signal: AbortSignal, timeoutMs?: number): Promise<void> {
    if (!this.isPending && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const end = () => resolve()
      const cancelTimeout = timeoutMs === undefined ? undefined : this.clock.setTimeout(end, timeoutMs)
      signal.addEventListener('abort', end, { once: true })
      this.resume = end
      await promise
      cancelTimeout?.()
      signal.removeEventListener('abort', end)
      this.resume = undefined
    }
    this.isPending = false
  }
}
