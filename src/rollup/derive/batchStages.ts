import type { Batch, SingularBatch } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'
import type { Pull } from './types.ts'

export interface BatchSource {
  readonly origin: L1BlockRef
  next(): Promise<Pull<Batch>>
  flushChannel(): void
}

/** The batch of the next L2 block. */
export interface NextBatch {
  batch: SingularBatch
  isLastInSpan: boolean
}

/** Sixth stage; the two implementations are `BatchQueue` and `BatchStage`. */
export interface BatchStageLike {
  readonly origin: L1BlockRef
  next(parent: L2BlockRef): Promise<Pull<NextBatch>>
  /** Drops the remaining batches: the attributes of the last block were invalid. */
  flushChannel(): void
}
