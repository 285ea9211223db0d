import { expect } from 'vitest'

type ErrorClass = abstract new (...args: never[]) => Error

/** Fails on a TypeError, a RangeError, or any other unintended error. */
export function throwsOnly(classes: readonly ErrorClass[], work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!classes.some((known) => error instanceof known)) throw error
  }
}

/** The error that the promise rejects with. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeDefined()
  return error
}
