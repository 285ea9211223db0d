import { describe, expect, it } from 'vitest'
import { ManualClock } from '../lib/clock.ts'
import { nextTurn } from '../lib/nextTurn.ts'
import { createLimitedRpc, type LimitedRpc } from './limitedRpc.ts'

/** A transport whose requests end when the test decides. */
function manualRpc() {
  const open: (() => void)[] = []
  const batchSizes: number[] = []
  let most = 0
  const wait = () =>
    new Promise<void>((resolve) => {
      open.push(resolve)
      most = Math.max(most, open.length)
    })
  const rpc: LimitedRpc = {
    async request(method) {
      await wait()
      return method
    },
    async batch(calls) {
      batchSizes.push(calls.length)
      await wait()
      return calls.map(({ method }) => method)
    },
  }
  const endOne = async () => {
    open.shift()?.()
    await nextTurn()
  }
  return { rpc, open, batchSizes, endOne, most: () => most }
}

const limits = { maxConcurrency: 2, rateLimitPerSecond: 0, maxBatchSize: 3 }

describe('limited RPC', () => {
  it('limits concurrent requests, and starts waiting ones in order', async () => {
    const { rpc, open, endOne, most } = manualRpc()
    const limited = createLimitedRpc(rpc, new ManualClock(), limits)
    const answers = Promise.all(['a', 'b', 'c', 'd', 'e'].map((method) => limited.request(method, [])))
    await nextTurn()
    for (let i = 0; i < 5; i++) {
      expect(open.length).toBeGreaterThan(0)
      await endOne()
    }
    expect(await answers).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(most()).toBe(2)
  })

  it('frees the place of a failed request', async () => {
    const failing: LimitedRpc = { request: () => Promise.reject(new Error('down')), batch: async () => [] }
    const limited = createLimitedRpc(failing, new ManualClock(), { ...limits, maxConcurrency: 1 })
    await expect(limited.request('a', [])).rejects.toThrow('down')
    await expect(limited.request('b', [])).rejects.toThrow('down')
  })

  it('splits a batch, and keeps the order of its answers', async () => {
    const { rpc, batchSizes, endOne } = manualRpc()
    const limited = createLimitedRpc(rpc, new ManualClock(), limits)
    const calls = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((method) => ({ method, params: [] }))
    const answers = limited.batch(calls)
    await nextTurn()
    for (let i = 0; i < 3; i++) await endOne()
    expect(await answers).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
    expect(batchSizes).toEqual([3, 3, 1])
  })

  it('allows a burst and then a limited rate', async () => {
    const clock = new ManualClock()
    const times: number[] = []
    const rpc: LimitedRpc = {
      async request() {
        times.push(clock.now())
        return null
      },
      batch: async () => [],
    }
    const limited = createLimitedRpc(rpc, clock, { maxConcurrency: 10, rateLimitPerSecond: 2, maxBatchSize: 3 })
    const all = Promise.all(Array.from({ length: 6 }, () => limited.request('a', [])))
    await nextTurn()
    await clock.advance(10_000)
    await all
    expect(times).toEqual([0, 0, 0, 500, 1000, 1500])
  })
})
