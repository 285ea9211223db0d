import type { SingularBatch, SpanBatch } from '../protocol/index.ts'
import type { L2BlockRef } from '../protocol/types.ts'
import { BatchStageBase, type BatchStageLike, type NextBatch } from './batchStages.ts'
import { checkSingularBatch } from './batchValidity.ts'
import { checkWindow } from './emptyBatch.ts'
import { DerivationError } from './errors.ts'
import type { BatchType } from './events.ts'
import { checkSpanBatchHolocene } from './spanBatchValidity.ts'
import type { Pull } from './types.ts'

/**
 * Sixth stage since Holocene: batches strictly in order, without buffering. An invalid batch drops its span batch and
 * its channel (specs: holocene/derivation, "Batch Queue"). Every block advances the safe head.
 */
export class BatchStage extends BatchStageBase implements BatchStageLike {
  /** A span batch whose lookups have not succeeded yet. */
  private incoming: SpanBatch | undefined

  flushChannel(): void {
    this.incoming = undefined
    this.span.clear()
    this.prev.flushChannel()
  }

  async next(parent: L2BlockRef): Promise<Pull<NextBatch>> {
    const { prev, window } = this
    window.update(this.origin, parent)
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
      const batch = this.nextEmpty(parent, true)
      return batch === undefined ? 'empty' : { batch, isLastInSpan: true }
    }
    const verdict = checkSingularBatch(this.context(parent, window.origin), candidate)
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
      const pulled = await this.prev.next()
      if (pulled === 'again' || pulled === 'empty' || pulled.type === 'singular') return pulled
      this.incoming = pulled
    }
    const span = this.incoming
    const { window } = this
    const verdict = await checkSpanBatchHolocene(this.context(parent, window.origin), span, this.l2)
    // If a lookup throws, the batch is checked again. If the batch is undecided because of missing L1 data, it is lost,
    // as in op-node: a valid batch cannot have an L1 origin newer than its own inclusion block.
    this.incoming = undefined
    if (verdict.kind === 'drop') this.drop('span', verdict.reason)
    if (verdict.kind === 'undecided') {
      this.logger.warn('Dropping span batch', { reason: verdict.reason })
      this.emitDropped('span', verdict.reason, false)
    }
    if (verdict.kind !== 'accept') return 'again'
    if (!this.span.set(span, { l1Blocks: window.blocks, safeHead: parent })) {
      this.drop('span', 'L1 origin of a block is not known')
      return 'again'
    }
    return this.span.next(parent) ?? 'again'
  }

  private drop(type: BatchType, reason: string): void {
    this.logger.warn('Dropping batch and its channel', { type, l1Block: this.origin.number, reason })
    this.emitDropped(type, reason, true)
    this.flushChannel()
  }

  private emitDropped(type: BatchType, reason: string, losesChannel: boolean): void {
    this.emit({ kind: 'batch-dropped', l1Block: this.origin.number, type, reason, losesChannel })
  }
}
