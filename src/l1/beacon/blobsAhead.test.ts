import { expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import type { L1BlockRef, L1Transaction } from '../../rollup/protocol/types.ts'
import { createBlobsAhead } from './blobsAhead.ts'

const INBOX: Hex = `0x${'ff'.repeat(20)}`
const BATCHER: Hex = `0x${'ba'.repeat(20)}`
const hashOf = (number: number): Hex => `0x01${number.toString(16).padStart(62, '0')}`
const blockAt = (number: number): L1BlockRef => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: number,
})
const posting = (number: number, blobs: number, change: Partial<L1Transaction> = {}): L1Transaction => ({
  hash: hashOf(number),
  type: 3,
  from: BATCHER,
  to: INBOX,
  input: new Uint8Array(),
  blobVersionedHashes: Array.from({ length: blobs }, (_, index) => hashOf(number * 100 + index)),
  ...change,
})

function start() {
  const fetched: [number, number][] = []
  const ahead = createBlobsAhead(
    {
      blobs: async () => [],
      async prefetch(block, hashes) {
        fetched.push([block.number, hashes.length])
      },
    },
    { batchInbox: INBOX },
  )
  return { ahead, fetched }
}

it("prefetches the batcher's blobs once the batcher address is known", async () => {
  const { ahead, fetched } = start()
  ahead.onBlock(blockAt(1), [posting(1, 2)])
  ahead.onBlock(blockAt(2), [posting(2, 3), posting(9, 1, { from: INBOX }), posting(8, 1, { to: BATCHER })])
  ahead.onBlock(blockAt(3), [posting(3, 1, { type: 2 })])
  expect(fetched).toEqual([])
  await ahead.blobs(blockAt(1), [hashOf(100), hashOf(101)])
  expect(fetched).toEqual([[2, 3]])
  ahead.onBlock(blockAt(4), [posting(4, 1), posting(5, 2)])
  expect(fetched).toEqual([
    [2, 3],
    [4, 3],
  ])
})

it('prefetches a limited number of blobs, in block order', async () => {
  const { ahead, fetched } = start()
  ahead.onBlock(blockAt(1), [posting(1, 1)])
  for (let number = 40; number > 1; number--) ahead.onBlock(blockAt(number), [posting(number, 6)])
  await ahead.blobs(blockAt(1), [hashOf(100)])
  expect(fetched.map(([number]) => number)).toEqual(Array.from({ length: 16 }, (_, index) => index + 2))
  await ahead.blobs(blockAt(3), [hashOf(300)])
  expect(fetched.slice(16).map(([number]) => number)).toEqual([18, 19])
})

it('restarts at the block of the reader after a reset', async () => {
  const { ahead, fetched } = start()
  for (let number = 1; number < 4; number++) ahead.onBlock(blockAt(number), [posting(number, 1)])
  await ahead.blobs(blockAt(2), [hashOf(200)])
  expect(fetched).toEqual([[3, 1]])
  for (let number = 1; number < 4; number++) ahead.onBlock(blockAt(number), [posting(number, 1)])
  await ahead.blobs(blockAt(1), [hashOf(100)])
  expect(fetched.slice(1).map(([number]) => number)).toContain(2)
})

it('keeps the newest 512 blocks with blobs, which nobody may ever read', async () => {
  const { ahead, fetched } = start()
  for (let number = 1; number <= 513; number++) ahead.onBlock(blockAt(number), [posting(number, 1)])
  await ahead.blobs(blockAt(1), [hashOf(100)])
  expect(fetched).toEqual([])
  await ahead.blobs(blockAt(2), [hashOf(200)])
  expect(fetched[0]).toEqual([3, 1])
})
