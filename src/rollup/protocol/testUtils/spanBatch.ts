import type { Hex } from '../../../lib/hex.ts'
import { encodeSpanBatch } from '../batch/spanBatchEncoder.ts'
import type { SpanBatch, SpanBatchElement } from '../batch/spanBatchTypes.ts'
import type { RollupConfig } from '../types.ts'

type Given = Partial<Pick<SpanBatch, 'parentCheck' | 'l1OriginCheck'>> & {
  elements: readonly (Omit<SpanBatchElement, 'originChanged'> & { originChanged?: boolean })[]
}

/** A span batch of these blocks, in decoded form. */
export function spanBatchOf({ elements, parentCheck, l1OriginCheck }: Given): SpanBatch {
  const all = elements.map((element) => ({ originChanged: false, ...element }))
  const at = (index: number) => {
    const element = all[index]
    if (element === undefined) throw new RangeError(`no block ${index} in the span`)
    return element
  }
  return {
    type: 'span',
    parentCheck: parentCheck ?? `0x${'00'.repeat(20)}`,
    l1OriginCheck: l1OriginCheck ?? `0x${'00'.repeat(20)}`,
    l1OriginNumber: BigInt(all.at(-1)?.epochNumber ?? 0),
    blockCount: all.length,
    timestampAt: (index) => at(index).timestamp,
    epochNumberAt: (index) => at(index).epochNumber,
    originChangedAt: (index) => at(index).originChanged,
    transactionsAt: (index) => at(index).transactions,
    elements: all,
  }
}

/** Encodes a decoded batch again. Of hashes it knows only the first 20 bytes, and no more are encoded. */
export function encodeDecodedSpanBatch(batch: SpanBatch, config: RollupConfig): Uint8Array {
  const padded = (check: Hex): Hex => `${check}${'00'.repeat(12)}`
  const blocks = batch.elements.map(({ originChanged, ...element }) => ({
    ...element,
    parentHash: padded(batch.parentCheck),
    epochHash: padded(batch.l1OriginCheck),
    sequenceNumber: originChanged ? 0 : 1,
  }))
  return encodeSpanBatch(blocks, config)
}
