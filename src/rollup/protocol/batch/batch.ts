import { DecodeError } from '../../../lib/errors.ts'
import { runNow, type Steps } from '../../../lib/steps.ts'
import type { RollupConfig } from '../types.ts'
import { SINGULAR_BATCH_TYPE, type SingularBatch, singularBatchSteps } from './singularBatch.ts'
import { buildSpanBatch } from './spanBatch.ts'
import { readSpanBatchLayout, type SpanBatchLayout } from './spanBatchLayout.ts'
import { SPAN_BATCH_TYPE, type SpanBatch } from './spanBatchTypes.ts'

export type Batch = SingularBatch | SpanBatch

/** Decodes `batch type ‖ content` as found in a channel. Throws DecodeError. */
export function decodeBatch(bytes: Uint8Array, config: RollupConfig): Batch {
  const read = runNow(readBatch(bytes))
  return read.type === 'singular' ? read : runNow(buildSpanBatch(read, config))
}

/**
 * The first half of decoding: a span batch only in its layout. DecodeError here means that the reference node leaves the channel, in
 * the second half (`buildSpanBatch`) that it drops this batch alone.
 */
export function* readBatch(bytes: Uint8Array): Steps<SingularBatch | SpanBatchLayout> {
  if (bytes[0] === SINGULAR_BATCH_TYPE) return yield* singularBatchSteps(bytes)
  if (bytes[0] === SPAN_BATCH_TYPE) return yield* readSpanBatchLayout(bytes)
  throw new DecodeError(bytes.length === 0 ? 'batch: empty' : `batch: type ${bytes[0]} is not known`)
}
