import { setTimeout as delay } from 'node:timers/promises'

/** Resolves with the first value that is not undefined or false; the test's own time limit ends the waiting. */
export async function until<T>(probe: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  for (;;) {
    const value = await probe()
    if (value !== undefined && value !== false) return value
    await delay(20)
  }
}
