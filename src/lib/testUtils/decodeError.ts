import { expect } from 'vitest'
import { DecodeError } from '../errors.ts'

/** For changed and arbitrary bytes: `run` may succeed, and may throw nothing but a DecodeError. */
export function expectDecodeErrorOrDone(run: () => void): void {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError)
  }
}
