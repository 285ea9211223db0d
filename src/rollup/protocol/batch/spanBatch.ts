import type { Hex } from '../../../lib/hex.ts'
import { runNow, type SlicedTask } from '../../../lib/slicedTask.ts'
import { type MarkedTransactions, markTransaction, noMarks, PackedTransactions } from '../payload/transactionList.ts'
import type { RollupConfig } from '../types.ts'
import type { BitList } from './bitList.ts'
import { readSpanBatchLayout, type SpanBatchLayout } from './spanBatchLayout.ts'
import { type RebuiltTransactions, rebuildTransactions } from './spanBatchTransactions.ts'
import type { SpanBatch, SpanBatchElement } from './spanBatchTypes.ts'

/** Number of elements before the decoder yields to the event loop. */
const ELEMENTS_PER_STEP = 50_000
const TWO_POW_64 = 2 ** 64

class DecodedSpanBatch implements SpanBatch {
  readonly type = 'span'
  readonly parentCheck: Hex
  readonly l1OriginCheck: Hex
  readonly l1OriginNumber: bigint
  readonly blockCount: number
  private readonly firstTimestamp: number
  private readonly blockTimeS: number
  private readonly originBits: BitList
  /** For each block, the number of origin changes after it. */
  private readonly changesAfter: Uint32Array
  /** Index of each block's first transaction, then the total number. */
  private readonly txStarts: Uint32Array
  private readonly rebuilt: RebuiltTransactions

  constructor(
    layout: SpanBatchLayout,
    parts: { changesAfter: Uint32Array; txStarts: Uint32Array; rebuilt: RebuiltTransactions },
    config: Pick<RollupConfig, 'genesis' | 'blockTime'>,
  ) {
    this.parentCheck = layout.parentCheck
    this.l1OriginCheck = layout.l1OriginCheck
    this.l1OriginNumber = layout.l1OriginNumber
    this.blockCount = layout.blockCount
    this.firstTimestamp = Number(BigInt.asUintN(64, BigInt(config.genesis.l2Time) + layout.relTimestamp))
    this.blockTimeS = config.blockTime
    this.originBits = layout.originBits
    this.changesAfter = parts.changesAfter
    this.txStarts = parts.txStarts
    this.rebuilt = parts.rebuilt
  }

  timestampAt(index: number): number {
    const timestamp = this.firstTimestamp + index * this.blockTimeS
    return timestamp < TWO_POW_64 ? timestamp : timestamp - TWO_POW_64
  }

  epochNumberAt(index: number): number {
    const epoch = Number(this.l1OriginNumber) - (this.changesAfter[index] ?? 0)
    return epoch < 0 ? epoch + TWO_POW_64 : epoch
  }

  originChangedAt(index: number): boolean {
    return this.originBits.has(index)
  }

  transactionsAt(index: number): PackedTransactions {
    return new SpanBlockTransactions(this.rebuilt, this.txStarts[index] ?? 0, this.txStarts[index + 1] ?? 0)
  }

  get elements(): SpanBatchElement[] {
    return Array.from({ length: this.blockCount }, (_, index) => ({
      timestamp: this.timestampAt(index),
      epochNumber: this.epochNumberAt(index),
      originChanged: this.originChangedAt(index),
      transactions: this.transactionsAt(index).slice(),
    }))
  }
}

/** Decodes in one call, without yielding. Throws DecodeError. */
export function decodeSpanBatch(bytes: Uint8Array, config: RollupConfig): SpanBatch {
  return runNow(buildSpanBatch(runNow(readSpanBatchLayout(bytes)), config))
}

/** The second step of decoding; takes linear time. Throws DecodeError if op-node would drop only this batch. */
export function* buildSpanBatch(layout: SpanBatchLayout, config: RollupConfig): SlicedTask<SpanBatch> {
  const { blockCount, originBits, txCounts, transactions } = layout
  const rebuilt = yield* rebuildTransactions(transactions, config.l2ChainId)
  const changesAfter = new Uint32Array(blockCount)
  let changes = 0
  for (let i = blockCount - 1; i >= 0; i--) {
    changesAfter[i] = changes
    if (originBits.has(i)) changes++
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  const txStarts = new Uint32Array(blockCount + 1)
  let next = 0
  for (let i = 0; i < blockCount; i++) {
    txStarts[i] = next
    next += txCounts[i] ?? 0
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  txStarts[blockCount] = next
  return new DecodedSpanBatch(layout, { changesAfter, txStarts, rebuilt }, config)
}

class SpanBlockTransactions extends PackedTransactions {
  private readonly rebuilt: RebuiltTransactions
  private readonly first: number
  readonly length: number

  constructor(rebuilt: RebuiltTransactions, first: number, end: number) {
    super()
    this.rebuilt = rebuilt
    this.first = first
    this.length = end - first
  }

  at(index: number): Uint8Array | undefined {
    if (index < 0 || index >= this.length) return undefined
    const { bytes, ends } = this.rebuilt
    const position = this.first + index
    return bytes.subarray(position === 0 ? 0 : ends[position - 1], ends[position])
  }

  marks(): MarkedTransactions {
    const marks = noMarks()
    const { bytes, ends } = this.rebuilt
    for (let index = 0; index < this.length; index++) {
      const position = this.first + index
      markTransaction(marks, index, bytes[position === 0 ? 0 : (ends[position - 1] ?? 0)])
    }
    return marks
  }
}
