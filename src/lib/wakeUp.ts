import type { Clock } from './clock.ts'

/**
 * Lets one loop sleep until something happens. A wake-up that comes while the loop is busy is kept: the next wait
 * returns at once, so no event is ever missed.
 */
export class WakeUp {
  private readonly clock: Clock
  private isPending = false
  private resume: (() => void) | undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Ends the wait under way, or the next one. */
  wake(): void {
    this.isPending = true
    this.resume?.()
  }

  /** Resolves at the next wake-up, after `timeoutMs` when given, or when the signal aborts; never rejects. */
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
