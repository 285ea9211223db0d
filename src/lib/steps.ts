import { takeTurn } from './turns.ts'

/**
 * Work that may be long, cut into slices of about a millisecond: each `yield` is a place where others may have their turn. Done at
 * once with `runNow` where it is known to be short, else with `runInTurns`.
 */
export type Steps<T> = Generator<undefined, T, undefined>

export function runNow<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Lets the event loop turn whenever the work has held it for long enough. */
export async function runInTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await takeTurn()
  }
}
