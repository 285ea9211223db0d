import type { Clock } from './clock.ts'

/** The promise's outcome, or a rejection with the signal's reason when it aborts first; the work itself goes on unheard. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  // Nobody hears of its failure after the end.
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

/** Calls back once when the signal aborts, at once when it has. */
export function whenAborted(signal: AbortSignal | undefined, callback: () => void): void {
  if (signal?.aborted) callback()
  else signal?.addEventListener('abort', callback, { once: true })
}

/** For steps that should not be cut, such as handing the last block to the engine, when a program is told to stop. */
const LAST_STEPS_MS = 1_000

/**
 * Resolves when the work has ended, at the latest a moment after the signal: then with false, and the work itself goes on
 * unheard.
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
