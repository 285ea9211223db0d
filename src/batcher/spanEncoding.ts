import { concatBytes } from '../lib/bytes.ts'
import { encodeRlp } from '../lib/rlp.ts'
import { encodeSpanBatch } from '../rollup/protocol/index.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import type { BatcherBlock } from './l2Block.ts'

/** Parent check and origin check (specs: delta/span-batches, "Span batch format"). */
const CHECK_BYTES = 40
/** All of a span that is there once, at most: RLP header, type, checks and three integers. */
const MAX_SPAN_OVERHEAD_BYTES = 9 + 1 + CHECK_BYTES + 3 * 10

/**
 * The blocks of one channel as span batches, `maxBlocks` in each (0 = all in one), and how long their encoding is at
 * most. Blocks can be taken off the end again.
 */
export class SpanEncoding {
  private readonly config: RollupConfig
  private readonly maxBlocks: number
  private readonly blocks: BatcherBlock[] = []
  /** `bounds[n]`: upper bound of the bytes of the first n blocks. */
  private readonly bounds: number[] = [0]
  /** Encodings of the spans that are complete. */
  private readonly complete: Uint8Array[] = []

  constructor(config: RollupConfig, maxBlocks: number) {
    this.config = config
    this.maxBlocks = maxBlocks === 0 ? Number.POSITIVE_INFINITY : maxBlocks
  }

  get count(): number {
    return this.blocks.length
  }

  /** Upper bound of the encoded bytes of the first `count` blocks. */
  bound(count = this.count): number {
    return this.bounds[count] ?? 0
  }

  /** Throws DecodeError for a transaction that cannot be in a batch. */
  push(block: BatcherBlock): void {
    const beginsSpan = this.count === 0 || this.count % this.maxBlocks === 0
    const bytes = this.bodyBytes(block) + (beginsSpan ? MAX_SPAN_OVERHEAD_BYTES : 0)
    this.bounds.push(this.bound() + bytes)
    this.blocks.push(block)
  }

  /** Keeps the first `count` blocks. */
  truncate(count: number): void {
    this.blocks.length = count
    this.bounds.length = count + 1
    if (this.maxBlocks < Number.POSITIVE_INFINITY)
      this.complete.length = Math.min(this.complete.length, Math.floor(count / this.maxBlocks))
  }

  /** RLP strings of the spans of the first `count` blocks. */
  encode(count = this.count): Uint8Array {
    const parts: Uint8Array[] = []
    for (let start = 0; start < count; start += this.maxBlocks) {
      const end = Math.min(start + this.maxBlocks, count)
      const isComplete = end - start === this.maxBlocks
      const part = (isComplete ? this.complete[parts.length] : undefined) ?? this.encodeSpan(start, end)
      if (isComplete) this.complete[parts.length] = part
      parts.push(part)
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : concatBytes(...parts)
  }

  private encodeSpan(start: number, end: number): Uint8Array {
    return encodeRlp(encodeSpanBatch(this.blocks.slice(start, end).map(spanBlock), this.config))
  }

  /** What the block adds to a span: every column grows by at most its length in a span of this block alone. */
  private bodyBytes(block: BatcherBlock): number {
    const alone = encodeSpanBatch([spanBlock(block)], this.config).length
    const relTimestamp = block.timestamp - this.config.genesis.l2Time
    return (
      alone - (1 + CHECK_BYTES + uvarintBytes(relTimestamp) + uvarintBytes(block.l1Origin.number) + uvarintBytes(1))
    )
  }
}

function spanBlock(block: BatcherBlock) {
  return {
    parentHash: block.parentHash,
    epochNumber: block.l1Origin.number,
    epochHash: block.l1Origin.hash,
    timestamp: block.timestamp,
    sequenceNumber: block.sequenceNumber,
    transactions: block.transactions,
  }
}

function uvarintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}
