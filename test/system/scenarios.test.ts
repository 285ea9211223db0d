import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runScenarios } from '../support/scenarios.ts'

const FAILING = fileURLToPath(new URL('../support/failingScenario.ts', import.meta.url))
/** Each scenario restores the testnet for the next. */
const SHORT = ['partition', 'batcher-dies', 'l1-reorg', 'flaky-links', 'hostile-peers']
const LONG = [['sequencer-moves', 'add-node', 'dead-static-peers'], ['fork-by-fork'], ['fifty-nodes']]

it('shipped scenarios pass on one testnet, and one that fails ends it with exit code 1', async () => {
  const { exitCode, verdicts, timeline, page, output } = await runScenarios([...SHORT, FAILING])
  const outcomes = [...SHORT.map((name) => ({ name, passed: true })), { name: FAILING, passed: false }]
  expect(verdicts, output).toMatchObject(outcomes)
  expect(verdicts.at(-1)?.why).toMatch(/^"the sequencer answers" is not so\. Nodes: sequencer does not answer \| /)
  expect(exitCode).toBe(1)
  expect(timeline.scenarios).toMatchObject(outcomes)
  expect(timeline.nodes.verifier1?.samples.atMs.length).toBeGreaterThan(5)
  expect(page).toContain('kill sequencer')
}, 1_200_000)

// With DEVIUM_LONG_FAULTS=all. They take minutes, and other tests already move sequencers, add nodes and activate forks.
it.runIf(process.env.DEVIUM_LONG_FAULTS === 'all').each(LONG)(
  '%s passes',
  async (...names) => {
    const { exitCode, verdicts, output } = await runScenarios(names)
    expect(verdicts, output).toMatchObject(names.map((name) => ({ name, passed: true })))
    expect(exitCode).toBe(0)
  },
  400_000,
)
