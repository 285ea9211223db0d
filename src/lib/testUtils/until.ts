import { inspect } from 'node:util'
import { nextTurn } from '../nextTurn.ts'

/** The time limit of every wait in tests. The limit of the test itself is twice as long. */
export const WAIT_LIMIT_MS = 60_000
/** Most events occur within a few turns of the event loop. Later probes run at growing intervals. */
const TURNS = 100
const MAX_INTERVAL_MS = 50

type Probe<T> = () => Promise<T | undefined | false> | T | undefined | false

/**
 * Resolves with the first value that is neither undefined nor false. A probe that throws is repeated. At the limit, the
 * error names the event and the last value or error of the probe.
 */
export async function until<T>(...event: [probe: Probe<T>] | [name: string, probe: Probe<T>]): Promise<T> {
  const [name, probe] = event.length === 2 ? event : ['the event', ...event]
  const deadlineMs = performance.now() + WAIT_LIMIT_MS
  for (let turn = 0; ; turn++) {
    let seen: unknown
    try {
      const value = await probe()
      if (value !== undefined && value !== false) return value
      seen = value
    } catch (error) {
      seen = error
    }
    if (performance.now() >= deadlineMs) {
      const message = `${name} did not come within ${WAIT_LIMIT_MS} ms: ${probe}; last seen: ${inspect(seen)}`
      const failure = new Error(message)
      // The stack begins at the test, which is the line that a reader needs.
      Error.captureStackTrace(failure, until)
      throw failure
    }
    const intervalMs = Math.min(turn - TURNS, MAX_INTERVAL_MS)
    await (intervalMs < 0 ? nextTurn() : new Promise((resolve) => setTimeout(resolve, intervalMs)))
  }
}
