import { expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { Progress, type ProgressState, progressInLog } from './progress.ts'

function start(intervalMs = 1_000) {
  const clock = new ManualClock(1_000_000)
  const shown: ProgressState[] = []
  let ended = 0
  const sink = { intervalMs, show: (state: ProgressState) => shown.push(state), end: () => ended++ }
  const progress = new Progress({ clock, sink }, { what: 'Importing blocks', unit: 'blocks' })
  return { clock, shown, progress, ended: () => ended }
}

it('is silent for two seconds, then shows progress, rate and remaining time', async () => {
  const { clock, shown, progress, ended } = start()
  await clock.advance(1_999)
  progress.advance(199, { total: 1_000 })
  expect(shown).toEqual([])
  await clock.advance(1)
  progress.advance(200, { total: 1_000, fields: () => ({ number: 7 }) })
  progress.advance(201, { total: 1_000 })
  expect(shown).toEqual([
    {
      ...{ what: 'Importing blocks', unit: 'blocks', done: 200, total: 1_000, fraction: 0.2 },
      ...{ perSecond: 100, secondsLeft: 8, fields: { number: 7 } },
    },
  ])
  progress.end()
  expect(ended()).toBe(1)
})

it('uses the rate of the last half minute', async () => {
  const { clock, shown, progress } = start()
  for (let second = 1; second <= 60; second++) {
    await clock.advance(1_000)
    progress.advance(second * 10, { total: 1_600 })
  }
  expect(shown.at(-1)).toMatchObject({ perSecond: 10, secondsLeft: 100 })
  for (let second = 1; second <= 30; second++) {
    await clock.advance(1_000)
    progress.advance(600 + second * 20, { total: 1_600 })
  }
  expect(shown.at(-1)).toMatchObject({ done: 1_200, perSecond: 20, secondsLeft: 20 })
})

it('accepts a fraction without a total, and omits unknown parts', async () => {
  const { clock, shown, progress } = start()
  await clock.advance(10_000)
  progress.advance(50, { fraction: 0.25 })
  expect(shown.at(-1)).toMatchObject({ total: undefined, fraction: 0.25, perSecond: 5, secondsLeft: 30 })
  await clock.advance(10_000)
  progress.advance(60)
  expect(shown.at(-1)).toMatchObject({ fraction: undefined, secondsLeft: undefined })
  const still = start()
  await still.clock.advance(5_000)
  still.progress.advance(0, { total: 10 })
  expect(still.shown.at(-1)).toMatchObject({ fraction: 0, perSecond: 0, secondsLeft: undefined })
  // The total grows during the task, so more items are done than the earlier total.
  await still.clock.advance(5_000)
  still.progress.advance(12, { total: 10 })
  expect(still.shown.at(-1)).toMatchObject({ fraction: 1, secondsLeft: 0 })
})

it('logs a line at first, and then every eight seconds', async () => {
  const clock = new ManualClock()
  const lines: unknown[] = []
  const sink = progressInLog({ info: (message, fields) => lines.push([message, fields]) })
  const progress = new Progress({ clock, sink }, { what: 'Building', unit: 'leaves' })
  for (let second = 1; second <= 17; second++) {
    await clock.advance(1_000)
    progress.advance(second * 3, { total: 300, fields: () => ({ file: 'x' }) })
  }
  expect(lines).toEqual([
    ['Building', { file: 'x', percent: 2, leaves: 6, of: 300, leavesPerSecond: 3, secondsLeft: 98 }],
    ['Building', { file: 'x', percent: 10, leaves: 30, of: 300, leavesPerSecond: 3, secondsLeft: 90 }],
  ])
})
