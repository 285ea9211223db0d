import { expect, it } from 'vitest'
import { ManualClock } from '../../../lib/clock.ts'
import { progressText } from '../../shared/terminal/progressLine.ts'
import { showDraining } from './batcherDraining.ts'

it('shows the number of posted channels, the rate and the remaining time until the submitter has stopped', async () => {
  const clock = new ManualClock()
  let channelsToConfirm = 4
  const rpc = { request: async () => ({ channelsToConfirm, openChannel: null }) }
  const answer = Promise.withResolvers<null>()
  const lines: string[] = []
  let isOver = false
  const sink = {
    intervalMs: 200,
    show: (state: Parameters<typeof progressText>[0]) => lines.push(progressText(state)),
    end: () => {
      isOver = true
    },
  }
  const shown = showDraining(rpc, answer.promise, sink, clock)
  await clock.advance(1_500)
  expect(lines).toEqual([])
  channelsToConfirm = 3
  await clock.advance(500)
  await clock.advance(500)
  expect(lines.at(-1)).toBe('Posting to L1: 25 %, 8 s left, 1 of 4 channels, 0.4 a second')
  answer.reject(new Error('stopped before all was saved'))
  await shown
  expect(isOver).toBe(true)
})
