import { onTestFailed, onTestFinished } from 'vitest'
import type { AnvilOptions } from '../../../test/support/anvil.ts'
import { kzg } from '../../lib/kzg/testUtils/kzgInTest.ts'
import type { RecordedChainName } from './recordedChain.ts'
import { type SubmitterSetup, setUpSubmitter } from './submitterSetup.ts'

/** Of what a failed test logged last. */
const SHOWN_LINES = 80

/** Stops when the test is over; when it has failed, what the submitters said and where they stand is shown. */
export async function submitterInTest(name: RecordedChainName, anvilOptions?: AnvilOptions): Promise<SubmitterSetup> {
  const setup = await setUpSubmitter(kzg, name, anvilOptions)
  onTestFinished(() => setup.stop())
  onTestFailed(() => {
    const status = setup.submitters.map((submitter) => submitter.status)
    const shown = [...setup.log.lines.slice(-SHOWN_LINES), ...status].map((line) => JSON.stringify(line, asText))
    console.error(shown.join('\n'))
  })
  return setup
}

function asText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value
}
