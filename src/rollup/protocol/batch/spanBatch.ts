import { runNow, type SlicedTask } from '../../../lib/slicedTask.ts'
import type { RollupConfig } from '../types.ts'
import { readSpanBatchLayout, type SpanBatchLayout } from './spanBatchLayout.ts'
import { rebuildTransactions } from './spanBatchTransactions.ts'
import type { SpanBatch } from './spanBatchTypes.ts'

/** Number of elements before the decoder yields to the event loop. */
const ELEMENTS_PER_STEP = 50_000
const TWO_POW_64 = 2 ** 64

/** Decodes in one call, without yielding. Throws DecodeError. */
export function decodeSpanBatch(bytes: Uint8Array, config: RollupConfig): SpanBatch {
  return runNow(buildSpanBatch(runNow(readSpanBatchLayout(bytes)), config))
}

/** The second step of decoding; takes linear time. Throws DecodeError if op-node would drop only this batch. */
export function* buildSpanBatch(layout: SpanBatchLayout, config: RollupConfig): SlicedTask<SpanBatch> {
  const { blockCount, originBits, txCounts, transactions } = layout
  const rebuilt = yield* rebuildTransactions(transactions, config.l2ChainId)
  /** For each block, the number of origin changes after it. */
  const changesAfter = new Uint32Array(blockCount)
  let changes = 0
  for (let i = blockCount - 1; i >= 0; i--) {
    changesAfter[i] = changes
    if (originBits.has(i)) changes++
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  /** Index of each block's first transaction, then the total number. */
  const txStarts = new Uint32Array(blockCount + 1)
  let next = 0
  for (let i = 0; i < blockCount; i++) {
    txStarts[i] = next
    next += txCounts[i] ?? 0
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  txStarts[blockCount] = next
  const firstTimestamp = Number(BigInt.asUintN(64, BigInt(config.genesis.l2Time) + layout.relTimestamp))
  const lastEpoch = Number(layout.l1OriginNumber)
  return {
    type: 'span',
    parentCheck: layout.parentCheck,
    l1OriginCheck: layout.l1OriginCheck,
    l1OriginNumber: layout.l1OriginNumber,
    blockCount,
    timestampAt(index) {
      const timestamp = firstTimestamp + index * config.blockTime
      return timestamp < TWO_POW_64 ? timestamp : timestamp - TWO_POW_64
    },
    epochNumberAt(index) {
      const epoch = lastEpoch - (changesAfter[index] ?? 0)
      return epoch < 0 ? epoch + TWO_POW_64 : epoch
    },
    originChangedAt: (index) => originBits.has(index),
    transactionsAt: (index) => rebuilt.part(txStarts[index] ?? 0, txStarts[index + 1] ?? 0),
    get elements() {
      return Array.from({ length: blockCount }, (_, index) => ({
        timestamp: this.timestampAt(index),
        epochNumber: this.epochNumberAt(index),
        originChanged: this.originChangedAt(index),
        transactions: this.transactionsAt(index).slice(),
      }))
    },
  }
}
