import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { l1Ref } from '../derive/testUtils/config.ts'
import { createCatchUpWatch } from './catchUpWatch.ts'
import { DerivationRecorder } from './derivationRecorder.ts'

it('reports how far derivation is behind L1, its rate, and the end', async () => {
  const clock = new ManualClock(1_000_000)
  const lines: unknown[] = []
  const logger = { ...silentLogger, info: (...line: unknown[]) => lines.push(line), child: () => logger }
  const record = new DerivationRecorder({ clock }).record()
  const at = { currentL1: 100, l1Head: 1_004, isIdle: false }
  const status = () => ({
    currentL1: l1Ref(at.currentL1),
    l1Head: l1Ref(at.l1Head),
    confirmations: 4,
    record: { ...record, isIdle: at.isIdle },
    safe: undefined,
  })
  const watch = createCatchUpWatch({ status, clock, logger })
  watch.check()
  const step = async (seconds: number, currentL1: number) => {
    at.currentL1 = currentL1
    await clock.advance(seconds * 1_000)
    watch.check()
  }
  await step(1, 120)
  expect(lines).toEqual([])
  await step(9, 300)
  const line = { l1: 300, l1Head: 1_004, safe: undefined, percent: 22, l1Blocks: 200, of: 900, l1BlocksPerSecond: 20 }
  expect(lines).toEqual([['Deriving from L1', { ...line, secondsLeft: 35 }]])
  // A reset goes back, and the progress starts again.
  await step(2, 50)
  await step(10, 150)
  expect(lines.at(-1)).toMatchObject(['Deriving from L1', { l1Blocks: 100, of: 950, l1BlocksPerSecond: 10 }])
  await step(2, 998)
  expect(lines.at(-1)).toEqual(['Derivation has caught up with L1', { l1: 998, l1Blocks: 948, seconds: 12 }])
  lines.length = 0
  // Behind by one new block, or waiting for a block that is not readable yet.
  at.l1Head = 1_030
  at.isIdle = true
  for (let round = 0; round < 10; round++) await step(2, 998)
  expect(lines).toEqual([])
})
