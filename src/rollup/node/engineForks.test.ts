import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import { createEngineForks } from './engineForks.ts'
import type { EngineForkVerdict } from './forkWatch.ts'

const KARST = { name: 'karst', time: 9 } as const
const OLD: EngineForkVerdict = { isReady: false, problem: 'The engine is too old' }
const READY: EngineForkVerdict = { isReady: true, problem: undefined }

it('queries the engine once in ten minutes for any number of reads, and keeps the last answer', async () => {
  const clock = new ManualClock(0)
  const answers: (EngineForkVerdict | Error)[] = [OLD, READY, new Error('refused')]
  const read = createEngineForks({
    clock,
    check: async () => {
      const answer = answers.shift()
      if (answer === undefined || answer instanceof Error) throw answer
      return answer
    },
  })
  const readTwice = async () => {
    const first = read(KARST)
    await nextTurn()
    return [first, read(KARST)]
  }
  expect(await readTwice()).toEqual([undefined, OLD])
  await clock.advance(599_999)
  expect(await readTwice()).toEqual([OLD, OLD])
  await clock.advance(1)
  expect(await readTwice()).toEqual([OLD, READY])
  await clock.advance(600_000)
  expect(await readTwice()).toEqual([READY, undefined])
  expect(answers).toEqual([])
})
