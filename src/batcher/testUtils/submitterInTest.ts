import { onTestFailed, onTestFinished } from 'vitest'
import type { AnvilOptions } from '../../../test/support/anvil.ts'
import { kzg } from '../../lib/kzg/testUtils/kzgInTest.ts'
import type { RecordedChainName } from './recordedChain.ts'
import { type SubmitterSetup, setUpSubmitter } from './submitterSetup.ts'

/** Log lines shown of a failed test. */
const SHOWN_LINES = 80

/** Stops the submitters after the test. If the test failed, shows their logs and status. */
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
