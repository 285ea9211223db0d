import type { Hex } from '../../lib/hex.ts'
import { transactionTotals } from '../protocol/index.ts'
import type { BlockId, PayloadEnvelope } from '../protocol/types.ts'

/** The last blocks that this sequencer has published, oldest first. Each is the parent of the next. */
export type PublishedBlocks = readonly PayloadEnvelope[]

/**
 * The number of blocks that an engine may lose in a crash if it writes its state periodically (op-geth keeps 128 in
 * memory).
 */
const MAX_BLOCKS = 128
const MAX_BYTES = 32 * 1024 * 1024

/** Adds a block. Drops blocks that are not its ancestors, and the oldest blocks beyond the limits. */
export function addPublished(blocks: PublishedBlocks, added: PayloadEnvelope): PublishedBlocks {
  const isChain = blocks.at(-1)?.payload.blockHash === added.payload.parentHash
  const kept = isChain ? [...blocks.slice(-(MAX_BLOCKS - 1)), added] : [added]
  let bytes = transactionTotals(added.payload).bytes
  let first = kept.length - 1
  for (; first > 0; first--) {
    const before = kept[first - 1]
    if (before !== undefined) bytes += transactionTotals(before.payload).bytes
    if (bytes > MAX_BYTES) break
  }
  return kept.slice(first)
}

export function childOf(blocks: PublishedBlocks, parentHash: Hex): PayloadEnvelope | undefined {
  return blocks.find(({ payload }) => payload.parentHash === parentHash)
}

/**
 * The blocks that remain when `head` is the head. Blocks from a replaced block of its height on are dropped. With
 * `isLast`, blocks above it are dropped, too.
 */
export function dropFrom(blocks: PublishedBlocks, head: BlockId, isLast: boolean): PublishedBlocks {
  const same = blocks.find(({ payload }) => payload.blockNumber === head.number)
  if (same !== undefined && same.payload.blockHash !== head.hash) {
    return blocks.filter(({ payload }) => payload.blockNumber < head.number)
  }
  return isLast ? blocks.filter(({ payload }) => payload.blockNumber <= head.number) : blocks
}
