import type { Batch, SingularBatch } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'
import type { Pull } from './types.ts'

/** Where batches come from. */
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

/** Sixth stage, in its two forms. */
export interface BatchStageLike {
  readonly origin: L1BlockRef
  next(parent: L2BlockRef): Promise<Pull<NextBatch>>
  /** The last block's attributes turned out invalid: forgets what came with them. */
  flushChannel(): void
}
