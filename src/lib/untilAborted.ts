import type { Clock } from './clock.ts'

/**
 * Settles like the promise, or rejects with the signal's reason if the signal aborts first. The work itself continues,
 * and its result is dropped.
 */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  // After an abort no caller handles a later rejection.
  promise.catch(() => {})
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Calls back once when the signal aborts; at once if it already has. */
export function whenAborted(signal: AbortSignal | undefined, callback: () => void): void {
  if (signal?.aborted) callback()
  else signal?.addEventListener('abort', callback, { once: true })
}

/** At shutdown, steps that should not be interrupted, such as inserting the last block, get this much time. */
const LAST_STEPS_MS = 1_000

/**
 * Resolves when the work has ended, at the latest LAST_STEPS_MS after the signal aborts. In the latter case it resolves
 * with false, and the work continues in the background.
 */
export async function untilStopped(work: Promise<unknown>, signal: AbortSignal, clock: Clock): Promise<boolean> {
  const { promise: isLate, resolve } = Promise.withResolvers<false>()
  let cancel = (): void => {}
  whenAborted(signal, () => {
    cancel = clock.setTimeout(() => resolve(false), LAST_STEPS_MS)
  })
  try {
    return await Promise.race([work.then(() => true), isLate])
  } finally {
    cancel()
  }
}
