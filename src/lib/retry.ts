import { type Clock, sleep } from './clock.ts'

/** Delay in milliseconds before attempt number `attempt` (1 = after the first failure). */
export type Backoff = (attempt: number) => number

/** Doubles from `firstMs` up to `maxMs`, and adds up to `jitterMs` at random. */
export function exponentialBackoff(firstMs: number, maxMs: number, jitterMs = 0): Backoff {
  return (attempt) => Math.min(maxMs, firstMs * 2 ** Math.min(30, attempt - 1)) + Math.random() * jitterMs
}

export interface RetryOptions {
  clock: Clock
  backoff: Backoff
  /** Total number of calls, including the first; unlimited if absent. */
  tries?: number
  signal?: AbortSignal
  /** Return false to stop retrying. */
  shouldRetry?: (error: unknown) => boolean
  onRetry?: (error: unknown, attempt: number, delayMs: number) => void
}

/** Calls `operation` until it succeeds. Rethrows the last error when the tries are used up or the signal aborts. */
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
