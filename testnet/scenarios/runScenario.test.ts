import { expect, it } from 'vitest'
import { ManualClock } from '../../src/lib/clock.ts'
import { UsageError } from '../../src/lib/errors.ts'
import type { TestnetEvent } from '../runner/events.ts'
import type { TestnetStatus } from '../runner/status.ts'
import { blocks, stands } from './conditions.ts'
import { Now } from './now.ts'
import { runScenario } from './runScenario.ts'
import type { Scenario } from './scenario.ts'

const hash = `0x${'ab'.repeat(32)}` as const

/** Runs steps on a testnet with one node that builds a block each second. */
async function follow(steps: Scenario['steps']) {
  const clock = new ManualClock()
  const events: TestnetEvent[] = []
  const status = (): TestnetStatus => {
    const number = Math.floor(clock.now() / 1000)
    return { nodes: [{ name: 'sequencer', unsafe: { number, hash }, safe: { number: Math.min(number, 5), hash } }] }
  }
  const testnet = {
    endpoints: { nodes: [] },
    sequencer: 'sequencer',
    request: async () => [],
    requestL1: async () => null,
    status: async () => status(),
  }
  const runCommand = async (words: readonly string[]) => {
    if (words[0] !== 'heal') throw new UsageError(`unknown command "${words[0]}"`)
    return { command: words.join(' '), did: 'All is whole.', lookAt: '' }
  }
  const modules = {
    readNow: () => Now.of(testnet),
    runCommand,
    emit: (event: TestnetEvent) => events.push(event),
    clock,
  }
  const scenario = { about: 'It works.', steps }
  let outcome: string | undefined
  runScenario('works', scenario, modules, new AbortController().signal).then(
    () => {
      outcome = 'passed'
    },
    (error: Error) => {
      outcome = error.message
    },
  )
  while (outcome === undefined) await clock.advance(100)
  return { outcome, events }
}

it('waits, checks, runs commands and reports each step', async () => {
  const { outcome, events } = await follow(async ({ run, waitFor, check, holds, now }) => {
    await waitFor('three blocks are made', blocks(3))
    expect(await run('heal')).toBe('All is whole.')
    await holds('the safe head is not beyond', ({ safe, head, sequencer }) => safe(sequencer) <= head, blocks(2))
    await waitFor(
      'the safe head stands',
      stands(({ safe, sequencer }) => safe(sequencer), 2),
    )
    await check('seven blocks are there', ({ head }) => head === 7)
    expect((await now()).peers('sequencer')).toBe(-1)
  })
  expect(outcome).toBe('passed')
  const step = (what: string) => ({ event: 'step', what, passed: true, seconds: expect.any(Number) })
  expect(events).toEqual([
    { event: 'scenario', name: 'works', about: 'It works.' },
    step('three blocks are made'),
    step('the safe head is not beyond'),
    step('the safe head stands'),
    step('seven blocks are there'),
    { event: 'verdict', name: 'works', passed: true, seconds: expect.any(Number) },
  ])
})

it.each<[string, Scenario['steps'], string]>([
  [
    'a failed check',
    ({ check }) => check('a block is made', blocks(1)),
    '"a block is made" is not so. Nodes: sequencer unsafe 0',
  ],
  [
    'a wait that times out',
    ({ waitFor }) => waitFor('nothing', () => false, 2_000),
    '"nothing" is not so after 2 s. Nodes: sequencer',
  ],
  [
    'a condition that stops holding',
    ({ holds }) => holds('no third block', ({ head }) => head < 3, blocks(9)),
    '"no third block" does not hold. Nodes: sequencer unsafe 3',
  ],
  [
    'a condition that throws',
    ({ waitFor }) =>
      waitFor(
        'an answer',
        () => {
          throw new Error('nobody is there')
        },
        1_000,
      ),
    '"an answer" is not so after 1 s; nobody is there.',
  ],
  ['an unknown command', ({ run }) => run('explode').then(() => {}), 'unknown command "explode"'],
])('fails at %s, and reports the reason', async (_, steps, message) => {
  const { outcome, events } = await follow(steps)
  expect(outcome).toContain(message)
  expect(events.at(-1)).toMatchObject({ event: 'verdict', passed: false, why: outcome })
})
