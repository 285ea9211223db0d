import type { SingularBatch, SpanBatch } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import type { BatchStageModules } from './batchQueue.ts'
import type { BatchStageLike, NextBatch } from './batchStages.ts'
import { type BatchContext, checkSingularBatch } from './batchValidity.ts'
import { checkWindow, nextEmptyBatch } from './emptyBatch.ts'
import { DerivationError } from './errors.ts'
import type { BatchType } from './events.ts'
import { ReadySpan } from './readySpan.ts'
import { checkSpanBatchHolocene } from './spanBatchValidity.ts'
import type { Pull } from './types.ts'

/**
 * Sixth stage since Holocene: batches strictly in order, without buffering. An invalid batch drops its span batch and
 * its channel (specs: holocene/derivation, "Batch Queue"). Every block advances the safe head.
 */
export class BatchStage implements BatchStageLike {
  private readonly modules: BatchStageModules
  private readonly config: RollupConfig
  /** A span batch whose lookups have not succeeded yet. */
  private incoming: SpanBatch | undefined
  private readonly span: ReadySpan

  constructor(modules: BatchStageModules, config: RollupConfig) {
    this.modules = modules
    this.config = config
    this.span = new ReadySpan(modules.logger, config.blockTime)
  }

  get origin(): L1BlockRef {
    return this.modules.prev.origin
  }

  flushChannel(): void {
    this.incoming = undefined
    this.span.clear()
    this.modules.prev.flushChannel()
  }

  async next(parent: L2BlockRef): Promise<Pull<NextBatch>> {
    const { prev, window } = this.modules
    window.update(prev.origin, parent)
    // Data of the parent's own L1 origin can contain only past batches.
    if (window.origin.number <= parent.l1Origin.number) {
      const pulled = await prev.next()
      return pulled === 'empty' ? 'empty' : 'again'
    }
    if (window.blocks.length < 2) {
      throw new DerivationError('pipeline-mismatch', 'reset', 'the L1 blocks after the safe head are not known')
    }
    checkWindow(window, parent)

    const candidate = await this.nextCandidate(parent)
    if (candidate === 'again') return 'again'
    if (candidate === 'empty') {
      const batch = nextEmptyBatch(window, parent, { config: this.config, outOfData: true })
      if (batch === undefined) return 'empty'
      this.modules.emit?.({ kind: 'empty-batch', l1Block: this.origin.number, timestamp: batch.timestamp })
      return { batch, isLastInSpan: true }
    }
    const verdict = checkSingularBatch(this.context(parent), candidate)
    switch (verdict.kind) {
      case 'accept':
        return { batch: candidate, isLastInSpan: true }
      case 'drop':
        this.drop('singular', verdict.reason)
        return 'again'
      default:
        // Skips a past batch. "Future" and "undecided" cannot occur here: the next L1 block is known and batches are
        // not buffered.
        return 'again'
    }
  }

  private async nextCandidate(parent: L2BlockRef): Promise<Pull<SingularBatch>> {
    const cached = this.span.next(parent)
    if (cached !== undefined) return cached
    if (this.incoming === undefined) {
      const pulled = await this.modules.prev.next()
      if (pulled === 'again' || pulled === 'empty' || pulled.type === 'singular') return pulled
      this.incoming = pulled
    }
    const span = this.incoming
    const verdict = await checkSpanBatchHolocene(this.context(parent), span, this.modules.l2)
    // If a lookup throws, the batch is checked again. If the batch is undecided because of missing L1 data, it is lost,
    // as in op-node: a valid batch cannot have an L1 origin newer than its own inclusion block.
    this.incoming = undefined
    if (verdict.kind === 'drop') this.drop('span', verdict.reason)
    if (verdict.kind === 'undecided') {
      this.modules.logger.warn('Dropping span batch', { reason: verdict.reason })
      this.emitDropped('span', verdict.reason, false)
    }
    if (verdict.kind !== 'accept') return 'again'
    if (!this.span.set(span, { l1Blocks: this.modules.window.blocks, safeHead: parent })) {
      this.drop('span', 'L1 origin of a block is not known')
      return 'again'
    }
    return this.span.next(parent) ?? 'again'
  }

  private drop(type: BatchType, reason: string): void {
    this.modules.logger.warn('Dropping batch and its channel', { type, l1Block: this.origin.number, reason })
    this.emitDropped(type, reason, true)
    this.flushChannel()
  }

  private emitDropped(type: BatchType, reason: string, losesChannel: boolean): void {
    this.modules.emit?.({ kind: 'batch-dropped', l1Block: this.origin.number, type, reason, losesChannel })
  }

  private context(parent: L2BlockRef): BatchContext {
    const { window } = this.modules
    return { config: this.config, l1Blocks: window.blocks, parent, inclusion: window.origin }
  }
}
