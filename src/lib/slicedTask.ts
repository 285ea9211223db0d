import { yieldToLoop } from './yieldToLoop.ts'

/**
 * A long task, cut into slices of about a millisecond. Each `yield` is a point where other work may run. Run it with
 * `runNow` if it is known to be short, else with `runYielding`.
 */
export type SlicedTask<T> = Generator<undefined, T, undefined>

export function runNow<T>(task: SlicedTask<T>): T {
  for (;;) {
    const { done, value } = task.next()
    if (done) return value
  }
}

/** Yields to the event loop when the task has run for too long. */
export async function runYielding<T>(task: SlicedTask<T>): Promise<T> {
  for (;;) {
    const { done, value } = task.next()
    if (done) return value
    await yieldToLoop()
  }
}
