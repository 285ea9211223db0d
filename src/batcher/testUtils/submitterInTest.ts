import { onTestFinished } from 'vitest'
import { type SubmitterSetup, setUpSubmitter } from './submitterSetup.ts'

/** Stops when the test is over. */
export async function submitterInTest(...args: Parameters<typeof setUpSubmitter>): Promise<SubmitterSetup> {
  const setup = await setUpSubmitter(...args)
  onTestFinished(() => setup.stop())
  return setup
}
