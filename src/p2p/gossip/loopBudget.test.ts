import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { createLoopBudget } from './loopBudget.ts'

/** The clock advances only by work. */
function startBudget(maxWaiting: number) {
  let nowMs = 0
  const budget = createLoopBudget(maxWaiting, () => nowMs)
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { budget, pass, work: (ms: number): void => budget.measure(() => pass(ms)) }
}

describe('createLoopBudget', () => {
  it('lets work continue within its budget, and makes the rest wait one loop iteration each', async () => {
    const { budget, work } = startBudget(10)
    expect(budget.take()).toBeUndefined()
    work(3)
    expect(budget.take()).toBeUndefined()
    work(2)
    let turn = 0
    const begun: number[] = []
    const count = (): void => {
      turn += 1
      if (begun.length < 2) setImmediate(count)
    }
    setImmediate(count)
    const first = budget.take()
    const second = budget.take()
    expect(first).toBeInstanceOf(Promise)
    for (const waiting of [first, second]) void waiting?.then(() => begun.push(turn))
    await second
    expect(begun).toEqual([1, 2])
    expect(budget.take()).toBeUndefined()
  })

  it('counts neither other work nor work of an earlier iteration', async () => {
    const { budget, pass, work } = startBudget(10)
    budget.take()
    pass(100)
    expect(budget.take()).toBeUndefined()
    work(100)
    await new Promise((resolve) => setImmediate(resolve))
    expect(budget.take()).toBeUndefined()
  })

  it('counts a little for each message', () => {
    const { budget } = startBudget(10)
    let count = 0
    while (budget.take() === undefined) count += 1
    expect(count).toBeLessThan(100)
    expect(count).toBeGreaterThan(50)
  })

  it('limits the number of waiting messages', async () => {
    const { budget, work } = startBudget(2)
    budget.take()
    work(100)
    const waiting = [budget.take(), budget.take()]
    expect(() => budget.take()).toThrow(errorWith('gossip-overloaded'))
    await Promise.all(waiting)
    expect(budget.take()).toBeUndefined()
  })
})
