import type { Hex } from '../lib/hex.ts'
import type { L1BlockInfo, L1BlockRef, L1Transaction } from '../rollup/protocol/types.ts'
import type { L1Client } from './types.ts'

/** The part of an L1 client that derivation reads. */
export type ReadL1 = Pick<L1Client, 'blockInfoByHash' | 'blockInfoByNumber' | 'transactions' | 'receipts'>
export type AheadL1 = ReadL1 & Pick<L1Client, 'fetchBlocks' | 'blockWeight'>

export interface ReadAhead extends ReadL1 {
  /** Nothing is read beyond the head, and what a reorg may have changed is read again. */
  onHead(head: L1BlockRef): void
}

/** Hears of each block that was fetched ahead. */
export type AheadListener = (block: L1BlockInfo, transactions: readonly L1Transaction[]) => void

/** Of an L1 with empty blocks; fewer on a busy one, down to the second number. */
const MAX_WINDOW = 256
const MIN_WINDOW = 8
/** What the blocks of a window may weigh, as in batches. */
const WINDOW_WEIGHT = 512
/** Blocks below the head that a reorg of L1 may still replace. */
const REORG_DEPTH = 128
/** Blocks that are read at once on the way back to where derivation starts. */
const BACKWARD_BLOCKS = 32

/**
 * L1 for a reader that goes from block to block: the next ones, with transactions and receipts, are fetched while it works
 * on one. On the way back, by hash from child to parent, as a reset looks for its start, headers are fetched in batches.
 */
export function createReadAhead(
  l1: AheadL1,
  onBlock: AheadListener = () => {},
  { maxWindow = MAX_WINDOW }: { maxWindow?: number } = {},
): ReadAhead {
  /** By number: what is fetched, or under way. Undefined: ask again. */
  const ahead = new Map<number, Promise<L1BlockInfo | undefined>>()
  let head: L1BlockRef | undefined
  let lastAsked: number | undefined
  /** The way back: how far headers are fetched, by a batch that may be under way. */
  let back: { child: L1BlockInfo; fetchedDownTo: number; underway: Promise<unknown> } | undefined

  const fetchContent = async (fetching: Promise<L1BlockInfo | undefined>): Promise<L1BlockInfo | undefined> => {
    // What is wrong shows when it is asked for.
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
  /** A quarter of a window is fetched at once, so that batches are full. */
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
      // Whoever jumps has met a reorg, or begins anew: nothing that was fetched before is believed.
      if (number !== lastAsked && (lastAsked === undefined || number !== lastAsked + 1)) ahead.clear()
      lastAsked = number
      const fetched = ahead.get(number)
      ahead.delete(number)
      extend(number + 1)
      const known = await fetched
      if (known !== undefined) return known
      // L1 did not answer: what was asked for along with it has failed, too.
      if (fetched !== undefined) ahead.clear()
      return l1.blockInfoByNumber(number)
    },
    async blockInfoByHash(hash: Hex) {
      // Whatever is asked for may be in that batch.
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
      // The reader waits for just this one.
      if (newHead.number === lastAsked && !ahead.has(newHead.number)) fetch([newHead.number])
    },
  }
}
