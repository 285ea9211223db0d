import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import type { RollupConfig } from '../protocol/index.ts'
import { testConfig } from '../protocol/testUtils/config.ts'
import { type EngineForkCheck, ForkWatch } from './forkWatch.ts'

const DAY = 86_400
const NOW = 1_800_000_000

function start(
  times: Record<string, number>,
  {
    engineForkCheck,
    follows = false,
    ...chain
  }: Partial<RollupConfig> & { engineForkCheck?: EngineForkCheck; follows?: boolean } = {},
) {
  const clock = new ManualClock(NOW * 1000)
  const lines: unknown[] = []
  const logger = { ...silentLogger, warn: (message: string) => lines.push(message) }
  const unknownForks = Object.entries(times).map(([name, time]) => ({ name, time }))
  const config = { ...testConfig({}), unknownForks, ...chain }
  const stop = new AbortController()
  const running = new ForkWatch({ clock, logger, engineForkCheck }, config, { follows }).run(stop.signal)
  return { clock, lines, stop, running }
}

it('warns of an unknown fork at the start, and again a day before it', async () => {
  const { clock, lines, stop, running } = start({ mars: NOW + 40 * DAY })
  await nextTurn()
  const line = (when: string) =>
    `This version does not know the fork mars: it stops following the chain at 2027-02-24 08:00:00 UTC, ${when}`
  expect(lines).toEqual([line('in 40 days')])
  await clock.advance(38 * DAY * 1000)
  expect(lines).toHaveLength(1)
  await clock.advance(DAY * 1000)
  expect(lines).toEqual([line('in 40 days'), line('in 24 h')])
  await running
  stop.abort()
})

it('warns once of a fork within a day, and reports that a past fork has stopped the node', async () => {
  const { lines, running } = start({ mars: NOW + 3_600, venus: NOW - 3 * DAY })
  await running
  expect(lines).toEqual([
    'This version does not know the fork venus: it stopped following the chain at 2027-01-12 08:00:00 UTC, 3 days ago',
    'This version does not know the fork mars: it stops following the chain at 2027-01-15 09:00:00 UTC, in 60 min',
  ])
})

it('is silent for a chain with known forks, and stops with the node', async () => {
  const none = start({})
  await none.running
  expect(none.lines).toEqual([])
  const { lines, stop, running } = start({ mars: NOW + 40 * DAY })
  stop.abort()
  await running
  expect(lines).toHaveLength(1)
})

it('checks the engine for future forks at the start, and again a day before', async () => {
  const checked: unknown[] = []
  const answers = ['not ready for karst', undefined]
  const engineForkCheck: EngineForkCheck = async (fork) => {
    checked.push(fork)
    const problem = answers.shift()
    return { isReady: problem === undefined, problem }
  }
  const forks = { jovian: NOW - DAY, karst: NOW + 3 * DAY }
  const { clock, lines, running } = start({ mars: NOW + 2 * DAY }, { forks, engineForkCheck })
  await nextTurn()
  const karst = { name: 'karst', time: NOW + 3 * DAY }
  const mars = 'This version does not know the fork mars: it stops following the chain at 2027-01-17 08:00:00 UTC'
  expect(checked).toEqual([karst])
  expect(lines).toEqual([`${mars}, in 2 days`, 'not ready for karst'])
  await clock.advance(2 * DAY * 1000)
  await running
  expect(checked).toEqual([karst, karst])
  // The engine has been upgraded in the meantime.
  expect(lines).toEqual([`${mars}, in 2 days`, 'not ready for karst', `${mars}, in 24 h`])
})

it('warns until the node has the upgrade bundle of Lagoon', async () => {
  const lagoon = NOW + 3_600
  const { lines, running } = start({}, { forks: { karst: 0, lagoon } })
  await running
  expect(lines).toEqual([
    expect.stringMatching(
      /^The node stops before Lagoon at 2027-01-15 09:00:00 UTC, in 60 min: .*--rollup.upgrade-bundle/,
    ),
  ])
  const ready = start({}, { forks: { karst: 0, lagoon }, lagoonBundle: [] })
  await ready.running
  const following = start({}, { forks: { karst: 0, lagoon }, follows: true })
  await following.running
  expect([ready.lines, following.lines]).toEqual([[], []])
})

it('continues when the engine does not answer', async () => {
  const engineForkCheck = () => Promise.reject(new Error('refused'))
  const { clock, lines, running } = start({}, { forks: { karst: NOW + 2 * DAY }, engineForkCheck })
  await clock.advance(DAY * 1000)
  await running
  expect(lines).toEqual([])
})
