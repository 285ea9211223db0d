import { serverError } from './blockLookup.ts'

/**
 * Runs what executes code until its time is over or its client has gone. Throws geth's error when the time is over.
 * `timeoutMs` 0 = no limit of its own.
 */
export async function withEvmTimeout<T>(
  signal: AbortSignal,
  timeoutMs: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (timeoutMs === 0) return run(signal)
  const controller = new AbortController()
  const leave = () => controller.abort(signal.reason)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  const timedOut = serverError(`execution aborted (timeout = ${timeoutMs / 1000}s)`)
  const timer = setTimeout(() => controller.abort(timedOut), timeoutMs)
  try {
    return await run(controller.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}
