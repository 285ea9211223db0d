import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { BlobTips } from './blobTips.ts'

function setUp(tips: Record<number, bigint[]>, { percentile = 50, range = 3 } = {}) {
  const requested: number[][] = []
  const state: { head: number; failure: Error | undefined } = { head: 10, failure: undefined }
  const l1 = {
    head: async () => ({ number: state.head, hash: ZERO_HASH, parentHash: ZERO_HASH, timestamp: 0 }),
    blobTips: async (blocks: readonly number[]) => {
      if (state.failure !== undefined) throw state.failure
      requested.push([...blocks])
      return blocks.map((number) => tips[number] ?? [])
    },
  }
  const options = { blobTipCapPercentile: percentile, blobTipCapRange: range }
  const blobTips = new BlobTips({ l1, clock: new ManualClock(0), logger: silentLogger }, options)
  return { requested, state, suggest: (signal = new AbortController().signal) => blobTips.suggest(99n, signal) }
}

it.each([
  [0, 1n],
  [50, 3n],
  [100, 20n],
])('suggests the tip at percentile %i of the last blocks', async (percentile, tip) => {
  const { suggest } = setUp({ 7: [1_000n], 8: [20n, 3n], 9: [1n], 10: [3n, 10n] }, { percentile })
  expect(await suggest()).toBe(tip)
})

it('reads each block once, and forgets old blocks', async () => {
  const { suggest, requested, state } = setUp({ 8: [1n], 9: [2n], 10: [3n], 11: [4n], 12: [5n] })
  expect(await suggest()).toBe(2n)
  expect(await suggest()).toBe(2n)
  state.head = 12
  expect(await suggest()).toBe(4n)
  expect(requested).toEqual([
    [10, 9, 8],
    [12, 11],
  ])
})

it('suggests the given tip if recent blocks have no blob transactions, also on a short chain', async () => {
  const { suggest, requested, state } = setUp({})
  state.head = 1
  expect(await suggest()).toBe(99n)
  expect(requested).toEqual([[1, 0]])
})

it('suggests no tip if the L1 request fails, and ends with its signal', async () => {
  const { suggest, state } = setUp({})
  state.failure = new Error('no answer')
  expect(await suggest()).toBeUndefined()
  const reason = new Error('closed')
  await expect(suggest(AbortSignal.abort(reason))).rejects.toBe(reason)
})
