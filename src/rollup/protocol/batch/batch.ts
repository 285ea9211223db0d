import { DecodeError } from '../../../lib/errors.ts'
import { runNow, type SlicedTask } from '../../../lib/slicedTask.ts'
import type { RollupConfig } from '../types.ts'
import { SINGULAR_BATCH_TYPE, type SingularBatch, singularBatchSteps } from './singularBatch.ts'
import { buildSpanBatch } from './spanBatch.ts'
import { readSpanBatchLayout, type SpanBatchLayout } from './spanBatchLayout.ts'
import { SPAN_BATCH_TYPE, type SpanBatch } from './spanBatchTypes.ts'

export type Batch = SingularBatch | SpanBatch

/** Decodes one batch of a channel: `batch type ‖ content`. Throws DecodeError. */
export function decodeBatch(bytes: Uint8Array, config: RollupConfig): Batch {
  const read = runNow(readBatch(bytes))
  return read.type === 'singular' ? read : runNow(buildSpanBatch(read, config))
}

/**
 * The first step of decoding. A span batch is only split into its columns. After a DecodeError here, op-node drops the
 * rest of the channel. After a DecodeError in the second step (`buildSpanBatch`), op-node drops only this batch.
 */
export function* readBatch(bytes: Uint8Array): SlicedTask<SingularBatch | SpanBatchLayout> {
  if (bytes[0] === SINGULAR_BATCH_TYPE) return yield* singularBatchSteps(bytes)
  if (bytes[0] === SPAN_BATCH_TYPE) return yield* readSpanBatchLayout(bytes)
  throw new DecodeError(bytes.length === 0 ? 'batch: empty' : `batch: type ${bytes[0]} is not known`)
}
