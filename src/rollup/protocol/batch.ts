import { DecodeError } from '../../lib/errors.ts'
import { decodeSingularBatch, SINGULAR_BATCH_TYPE, type SingularBatch } from './singularBatch.ts'
import { decodeSpanBatch } from './spanBatch.ts'
import { SPAN_BATCH_TYPE, type SpanBatch } from './spanBatchTypes.ts'
import type { RollupConfig } from './types.ts'

export type Batch = SingularBatch | SpanBatch

/** Decodes `batch type ‖ content` as found in a channel. Throws DecodeError. */
export function decodeBatch(bytes: Uint8Array, config: RollupConfig): Batch {
  if (bytes[0] === SINGULAR_BATCH_TYPE) return decodeSingularBatch(bytes)
  if (bytes[0] === SPAN_BATCH_TYPE) return decodeSpanBatch(bytes, config)
  throw new DecodeError(bytes.length === 0 ? 'batch: empty' : `batch: type ${bytes[0]} is not known`)
}
