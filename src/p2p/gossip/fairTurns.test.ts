import { describe, expect, it } from 'vitest'
import { createFairTurns } from './fairTurns.ts'

/** The clock advances only by work. */
function startTurns(maxWaiting: number) {
  let nowMs = 0
  const turns = createFairTurns(maxWaiting, () => nowMs)
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { turns, pass, work: (ms: number): void => turns.measure(() => pass(ms)) }
}

describe('createFairTurns', () => {
  it('lets work go on within its share of a turn, and makes the rest wait one turn each', async () => {
    const { turns, work } = startTurns(10)
    expect(turns.take()).toBeUndefined()
    work(3)
    expect(turns.take()).toBeUndefined()
    work(2)
    let turn = 0
    const begun: number[] = []
    const count = (): void => {
      turn += 1
      if (begun.length < 2) setImmediate(count)
    }
    setImmediate(count)
    const first = turns.take()
    const second = turns.take()
    expect(first).toBeInstanceOf(Promise)
    for (const waiting of [first, second]) void waiting?.then(() => begun.push(turn))
    await second
    expect(begun).toEqual([1, 2])
    expect(turns.take()).toBeUndefined()
  })

  it('counts neither what others do nor what was done in a turn before', async () => {
    const { turns, pass, work } = startTurns(10)
    turns.take()
    pass(100)
    expect(turns.take()).toBeUndefined()
    work(100)
    await new Promise((resolve) => setImmediate(resolve))
    expect(turns.take()).toBeUndefined()
  })

  it('counts a little for each message', () => {
    const { turns } = startTurns(10)
    let count = 0
    while (turns.take() === undefined) count += 1
    expect(count).toBeLessThan(100)
    expect(count).toBeGreaterThan(50)
  })

  it('lets no more than a number wait', async () => {
    const { turns, work } = startTurns(2)
    turns.take()
    work(100)
    const waiting = [turns.take(), turns.take()]
    expect(() => turns.take()).toThrow('too many')
    await Promise.all(waiting)
    expect(turns.take()).toBeUndefined()
  })
})
