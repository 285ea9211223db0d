import type { Hex } from '../lib/hex.ts'
import type { L1BlockInfo, L1BlockRef, L1Transaction } from '../rollup/protocol/types.ts'
import type { L1Client } from './types.ts'

/** The part of the L1 client that derivation uses. */
export type ReadL1 = Pick<L1Client, 'blockInfoByHash' | 'blockInfoByNumber' | 'transactions' | 'receipts'>
export type AheadL1 = ReadL1 & Pick<L1Client, 'fetchBlocks' | 'blockWeight'>

export interface ReadAhead extends ReadL1 {
  /** Sets the head: no block after the head is read, and blocks that a reorg may have replaced are read again. */
  onHead(head: L1BlockRef): void
}

export type AheadListener = (block: L1BlockInfo, transactions: readonly L1Transaction[]) => void

/** Window for an L1 with empty blocks. A busy L1 has a smaller window, down to MIN_WINDOW. */
const MAX_WINDOW = 256
const MIN_WINDOW = 8
/** Maximum weight of the blocks of a window, in batch weights. */
const WINDOW_WEIGHT = 512
/** Blocks below the head that an L1 reorg may still replace. */
const REORG_DEPTH = 128
/** Headers in one batch on the way back to the start of derivation. */
const BACKWARD_BLOCKS = 32

/**
 * L1 for a sequential reader. While the reader processes one block, the next blocks are prefetched with transactions
 * and receipts. A reset walks back by hash from child to parent; on this way headers are fetched in batches.
 */
export function createReadAhead(
  l1: AheadL1,
  onBlock: AheadListener = () => {},
  { maxWindow = MAX_WINDOW }: { maxWindow?: number } = {},
): ReadAhead {
  /** Prefetched or pending blocks by number. Undefined: request the block again. */
  const ahead = new Map<number, Promise<L1BlockInfo | undefined>>()
  let head: L1BlockRef | undefined
  let lastRequested: number | undefined
  /** The walk back: how far headers are fetched, perhaps by a pending batch. */
  let back: { child: L1BlockInfo; fetchedDownTo: number; underway: Promise<unknown> } | undefined

  const fetchContent = async (fetching: Promise<L1BlockInfo | undefined>): Promise<L1BlockInfo | undefined> => {
    // A failure is reported by the later request.
    const info = await fetching.catch(() => undefined)
    if (info === undefined) return undefined
    l1.receipts(info.hash).catch(() => {})
    l1.transactions(info.hash).then(
      ({ transactions }) => onBlock(info, transactions),
      () => {},
    )
    return info
  }
  const fetch = (numbers: readonly number[]): void => {
    const fetching = l1.fetchBlocks(numbers)
    for (const [index, number] of numbers.entries()) {
      const block = fetching[index]
      if (block !== undefined) ahead.set(number, fetchContent(block))
    }
  }
  /** Fetches at least a quarter of a window at once, so that batches are full. */
  const extend = (from: number): void => {
    if (head === undefined) return
    const window = Math.max(MIN_WINDOW, Math.min(maxWindow, Math.floor(WINDOW_WEIGHT / l1.blockWeight())))
    const first = from + ahead.size
    const last = Math.min(from + window - 1, head.number)
    if (last < first || last - first + 1 < Math.min(window / 4, last - from + 1)) return
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    fetch(numbers)
  }
  const forgetFrom = (number: number): void => {
    for (const known of ahead.keys()) if (known >= number) ahead.delete(known)
  }

  return {
    async blockInfoByNumber(number) {
      // A jump means a reorg or a restart, so all prefetched blocks are dropped.
      if (number !== lastRequested && (lastRequested === undefined || number !== lastRequested + 1)) ahead.clear()
      lastRequested = number
      const fetched = ahead.get(number)
      ahead.delete(number)
      extend(number + 1)
      const known = await fetched
      if (known !== undefined) return known
      // L1 did not answer. Blocks that were requested with this one have failed, too.
      if (fetched !== undefined) ahead.clear()
      return l1.blockInfoByNumber(number)
    },
    async blockInfoByHash(hash: Hex) {
      // The pending batch may contain the requested block.
      await back?.underway
      const info = await l1.blockInfoByHash(hash)
      if (info === undefined) return undefined
      if (back === undefined || back.child.parentHash !== hash) {
        if (back?.child.hash !== hash) back = { child: info, fetchedDownTo: info.number, underway: Promise.resolve() }
        return info
      }
      back.child = info
      if (info.number <= back.fetchedDownTo) {
        const to = Math.min(info.number, back.fetchedDownTo)
        const numbers = Array.from({ length: Math.min(BACKWARD_BLOCKS, to) }, (_, index) => to - 1 - index)
        back.fetchedDownTo = to - numbers.length
        back.underway = Promise.allSettled(numbers.map((number) => l1.blockInfoByNumber(number)))
      }
      return info
    },
    transactions: (hash) => l1.transactions(hash),
    receipts: (hash) => l1.receipts(hash),
    onHead(newHead) {
      const isNext = head === undefined || newHead.parentHash === head.hash || newHead.hash === head.hash
      if (!isNext) forgetFrom(Math.min(newHead.number, head?.number ?? 0) - REORG_DEPTH)
      head = newHead
      // The reader waits for this block only.
      if (newHead.number === lastRequested && !ahead.has(newHead.number)) fetch([newHead.number])
    },
  }
}
