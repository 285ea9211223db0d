import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { watchEngineSync } from './engineSyncWatch.ts'

it("reports progress, rate and remaining time of the engine's sync until it ends", async () => {
  const clock = new ManualClock(1_000_000)
  const lines: unknown[] = []
  const logger = { ...silentLogger, info: (...line: unknown[]) => lines.push(line), child: () => logger }
  let isSyncing = true
  let answers: ({ current: number; highest: number } | Error | undefined)[] = []
  let requests = 0
  const engine = {
    async ownSync() {
      requests++
      const [answer] = answers.length > 1 ? answers.splice(0, 1) : answers
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  // The engine has not begun, does not answer, knows no target for 20 s, then continues from its last block.
  const nothing = Array.from({ length: 10 }, () => ({ current: 0, highest: 0 }))
  answers = [
    ...[undefined, new Error('busy'), ...nothing],
    ...[
      { current: 100, highest: 1_100 },
      { current: 300, highest: 1_100 },
    ],
  ]
  const end = watchEngineSync({ isSyncing: () => isSyncing, engine, clock, logger }, new AbortController().signal)
  await clock.advance(20_000)
  expect(lines).toEqual([])
  for (let poll = 0; poll < 40 && lines.length === 0; poll++) await clock.advance(2_000)
  // The rate covers only the time with progress.
  const [[, first] = []] = lines as [string, { blocks: number; blocksPerSecond: number }][]
  expect(first?.blocks).toBe(200)
  expect(first?.blocksPerSecond).toBeGreaterThanOrEqual(50)
  await clock.advance(20_000)
  expect(lines.at(-1)).toMatchObject([
    'Engine is syncing over its own network',
    { current: 300, highest: 1_100, percent: 20, blocks: 200, of: 1_000 },
  ])
  expect((lines.at(-1) as [string, object])[1]).toMatchObject({ secondsLeft: expect.any(Number) })
  isSyncing = false
  await clock.advance(2_000)
  await end
  const before = requests
  await clock.advance(10_000)
  expect(requests).toBe(before)
})
