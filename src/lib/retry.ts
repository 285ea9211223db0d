import { type Clock, sleep } from './clock.ts'

/** Delay in milliseconds before try number `attempt` (1 = after the first failure). */
export type Backoff = (attempt: number) => number

/** Doubling from `firstMs` up to `maxMs`, plus up to `jitterMs` at random. */
export function exponentialBackoff(firstMs: number, maxMs: number, jitterMs = 0): Backoff {
  return (attempt) => Math.min(maxMs, firstMs * 2 ** Math.min(30, attempt - 1)) + Math.random() * jitterMs
}

export interface RetryOptions {
  clock: Clock
  backoff: Backoff
  /** Total number of calls, the first included; unlimited when absent. */
  tries?: number
  signal?: AbortSignal
  /** Return false to give up at once. */
  shouldRetry?: (error: unknown) => boolean
  onRetry?: (error: unknown, attempt: number, delayMs: number) => void
}

/** Calls `operation` until it succeeds; rethrows the last error when tries run out or the signal aborts. */
export async function retry<T>(operation: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    options.signal?.throwIfAborted()
    try {
      return await operation()
    } catch (error) {
      if (attempt === options.tries || options.signal?.aborted || options.shouldRetry?.(error) === false) throw error
      const delayMs = options.backoff(attempt)
      options.onRetry?.(error, attempt, delayMs)
      await sleep(options.clock, delayMs, options.signal)
    }
  }
}
