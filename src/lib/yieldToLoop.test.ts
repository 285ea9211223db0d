import { expect, it } from 'vitest'
import { inOwnTask, type Work, yieldToLoop } from './yieldToLoop.ts'

function busy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

it('resumes one waiting task in each iteration of the event loop', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  // Earlier work has used up its time, so the first callers wait as well.
  busy(10)
  const work = async () => {
    await yieldToLoop()
    busy(10)
    await yieldToLoop()
    busy(10)
  }
  await Promise.all(Array.from({ length: 20 }, work))
  clearInterval(timer)
  expect(turns).toBeGreaterThanOrEqual(39)
})

it('resumes work on blocks first', async () => {
  const order: string[] = []
  const work = async (kind: Work) => {
    busy(10)
    await yieldToLoop(kind)
    order.push(kind)
  }
  await Promise.all([work('answer'), work('answer'), work('block'), work('block')])
  expect(order).toEqual(['block', 'block', 'answer', 'answer'])
})

it('gives a long task an iteration without other work', async () => {
  const tick = Promise.withResolvers<void>()
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
    tick.resolve()
  }, 1)
  // Timers and their continuations run first in a turn. The next tick therefore belongs to the next turn.
  await tick.promise
  const step = inOwnTask()
  busy(5)
  await step
  clearInterval(timer)
  expect(ticks).toBe(2)
})
