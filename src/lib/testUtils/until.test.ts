import { expect, it, onTestFinished, vi } from 'vitest'
import { loopTurns } from '../nextTurn.ts'
import { until, WAIT_LIMIT_MS } from './until.ts'

/** Lets the whole limit pass at once, except for the event loop turns, which take no time. */
async function passTheLimit(): Promise<void> {
  await loopTurns(300)
  await vi.advanceTimersByTimeAsync(2 * WAIT_LIMIT_MS)
}

it.each([[0], [''], [null], [true], ['value']])(
  'returns the first value that is not undefined or false: %j',
  async (value) => {
    const values = [undefined, false, value, 'later']
    expect(await until<unknown>(() => values.shift())).toBe(value)
    expect(values).toEqual(['later'])
  },
)

it('retries if the probe throws or rejects', async () => {
  let calls = 0
  const value = await until(async () => {
    calls += 1
    if (calls < 3) throw new Error('not yet')
    return calls
  })
  expect(value).toBe(3)
})

it.each<[string, () => false | undefined, string]>([
  ['a value', () => false, 'last seen: false'],
  ['nothing', () => undefined, 'last seen: undefined'],
  [
    'an error',
    () => {
      throw new Error('connect ECONNREFUSED')
    },
    'last seen: Error: connect ECONNREFUSED',
  ],
])('names the event at the limit, with %s as its last value', async (_, probe, seen) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const waiting = until('the block', probe)
  const failure = expect(waiting).rejects.toThrow(`the block did not come within 60000 ms: ${probe}; ${seen}`)
  await passTheLimit()
  await failure
})

it('accepts an event just before the limit', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const justBeforeMs = performance.now() + WAIT_LIMIT_MS - 20
  const waiting = until(() => performance.now() >= justBeforeMs)
  await passTheLimit()
  expect(await waiting).toBe(true)
})
