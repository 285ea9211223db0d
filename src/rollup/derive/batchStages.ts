import type { Batch, SingularBatch } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import type { BatchContext } from './batchValidity.ts'
import { nextEmptyBatch } from './emptyBatch.ts'
import type { L1Window } from './l1Window.ts'
import { ReadySpan } from './readySpan.ts'
import type { L2Lookup } from './spanBatchValidity.ts'
import { type ChannelSource, Stage, type StageModules } from './stage.ts'
import type { Pull } from './types.ts'

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

interface BatchStageModules extends StageModules<ChannelSource<Batch>> {
  l2: L2Lookup
  window: L1Window
}

/** The common part of both implementations. */
export abstract class BatchStageBase extends Stage<ChannelSource<Batch>> {
  protected readonly l2: L2Lookup
  protected readonly window: L1Window
  protected readonly span: ReadySpan

  constructor(modules: BatchStageModules, config: RollupConfig) {
    super(modules, config)
    this.l2 = modules.l2
    this.window = modules.window
    this.span = new ReadySpan(modules.logger, config.blockTime)
  }

  protected context(parent: L2BlockRef, inclusion: L1BlockRef): BatchContext {
    return { config: this.config, l1Blocks: this.window.blocks, parent, inclusion }
  }

  protected nextEmpty(parent: L2BlockRef, outOfData: boolean): SingularBatch | undefined {
    const batch = nextEmptyBatch(this.window, parent, { config: this.config, outOfData })
    if (batch !== undefined) {
      this.emit({ kind: 'empty-batch', l1Block: this.origin.number, timestamp: batch.timestamp })
    }
    return batch
  }
}
