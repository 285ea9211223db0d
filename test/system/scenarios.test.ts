import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runScenarios } from '../support/scenarios.ts'

const FAILING = fileURLToPath(new URL('../support/failingScenario.ts', import.meta.url))
/** Each leaves the testnet whole for the next. */
const SHORT = ['partition', 'batcher-dies']

it('shipped scenarios pass on one testnet, and one that fails ends it with exit code 1', async () => {
  const { exitCode, verdicts, timeline, page, output } = await runScenarios([...SHORT, FAILING])
  const outcomes = [...SHORT.map((name) => ({ name, passed: true })), { name: FAILING, passed: false }]
  expect(verdicts, output).toMatchObject(outcomes)
  expect(verdicts.at(-1)?.why).toMatch(/^"the sequencer answers" is not so\. Nodes: sequencer does not answer \| /)
  expect(exitCode).toBe(1)
  expect(timeline.scenarios).toMatchObject(outcomes)
  expect(timeline.nodes.verifier1?.samples.atMs.length).toBeGreaterThan(5)
  expect(page).toContain('kill sequencer')
}, 400_000)
