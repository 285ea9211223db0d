import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { ForkWatch } from './forkWatch.ts'

const DAY = 86_400
const NOW = 1_800_000_000

function start(times: Record<string, number>) {
  const clock = new ManualClock(NOW * 1000)
  const lines: unknown[] = []
  const logger = { ...silentLogger, warn: (message: string) => lines.push(message) }
  const config = { forks: {}, unknownForks: Object.entries(times).map(([name, time]) => ({ name, time })) }
  const stop = new AbortController()
  const running = new ForkWatch({ clock, logger }, config).run(stop.signal)
  return { clock, lines, stop, running }
}

it('warns of a fork that it does not know at the start, and once more a day before it', async () => {
  const { clock, lines, stop, running } = start({ mars: NOW + 40 * DAY })
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

it('warns of one within a day at the start only, and says of one before that it has stopped', async () => {
  const { lines, running } = start({ mars: NOW + 3_600, venus: NOW - 3 * DAY })
  await running
  expect(lines).toEqual([
    'This version does not know the fork venus: it stopped following the chain at 2027-01-12 08:00:00 UTC, 3 days ago',
    'This version does not know the fork mars: it stops following the chain at 2027-01-15 09:00:00 UTC, in 60 min',
  ])
})

it('says nothing of a chain whose forks it knows, and stops with the node', async () => {
  const none = start({})
  await none.running
  expect(none.lines).toEqual([])
  const { lines, stop, running } = start({ mars: NOW + 40 * DAY })
  stop.abort()
  await running
  expect(lines).toHaveLength(1)
})
