import { expect } from 'vitest'

type ErrorClass = abstract new (...args: never[]) => Error

/** Neither a TypeError nor a RangeError nor anything else that nobody meant. */
export function throwsOnly(classes: readonly ErrorClass[], work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!classes.some((known) => error instanceof known)) throw error
  }
}

/** What it rejects with. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeDefined()
  return error
}
