import type { Batch } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'
import { BatchStageBase, type BatchStageLike, type NextBatch } from './batchStages.ts'
import { type BatchVerdict, checkSingularBatch, PAST_REASON } from './batchValidity.ts'
import { checkWindow } from './emptyBatch.ts'
import { DerivationError } from './errors.ts'
import { checkSpanBatch } from './spanBatchValidity.ts'
import type { Pull } from './types.ts'

interface QueuedBatch {
  batch: Batch
  /** The L1 block that completed the batch's channel. */
  inclusion: L1BlockRef
}

/**
 * Sixth stage before Holocene: buffers batches, returns them in the order of L2 time, and creates empty batches after
 * the sequencing window has passed (specs: derivation, "Batch Queue").
 */
export class BatchQueue extends BatchStageBase implements BatchStageLike {
  /** Pulled from the previous stage but not checked yet. A failed lookup must not lose it. */
  private incoming: QueuedBatch | undefined
  private queued: QueuedBatch[] = []

  flushChannel(): void {}

  async next(parent: L2BlockRef): Promise<Pull<NextBatch>> {
    const cached = this.nextOfSpan(parent)
    if (cached !== undefined) return cached

    const { window } = this
    window.update(this.origin, parent)
    const isBehind = window.isBehind(parent)
    if (isBehind) this.incoming = undefined
    const loaded = await this.load()
    if (isBehind) return loaded === 'empty' ? 'empty' : 'again'
    // There is no new batch to check. An empty batch is due only when L1 has no more data.
    if (loaded === 'again') return 'again'
    await this.judgeIncoming(parent)
    const batch = await this.derive(parent, loaded === 'empty')
    if (batch === undefined) return loaded === 'empty' ? 'empty' : 'again'
    if (batch.type === 'singular') return { batch, isLastInSpan: true }
    this.span.set(batch, { l1Blocks: window.blocks, safeHead: parent })
    const first = this.nextOfSpan(parent)
    if (first !== undefined) return first
    throw new DerivationError('derivation-invariant', 'critical', 'accepted span batch does not hold the next block')
  }

  private nextOfSpan(parent: L2BlockRef): NextBatch | undefined {
    const batch = this.span.next(parent)
    return batch && { batch, isLastInSpan: this.span.isEmpty }
  }

  private async load(): Promise<Pull<QueuedBatch>> {
    if (this.incoming !== undefined) return this.incoming
    const pulled = await this.prev.next()
    if (pulled === 'empty' || pulled === 'again') return pulled
    this.incoming = { batch: pulled, inclusion: this.origin }
    return this.incoming
  }

  private async judgeIncoming(parent: L2BlockRef): Promise<void> {
    if (this.incoming === undefined) return
    const verdict = await this.check(this.incoming, parent)
    if (verdict.kind === 'drop') this.logDrop(this.incoming, verdict.reason)
    else this.queued.push(this.incoming)
    this.incoming = undefined
  }

  /** The first queued batch that fits, or a due empty batch; undefined if there is none. */
  private async derive(parent: L2BlockRef, outOfData: boolean): Promise<Batch | undefined> {
    checkWindow(this.window, parent)
    const remaining: QueuedBatch[] = []
    for (const [index, item] of this.queued.entries()) {
      const verdict = await this.check(item, parent)
      if (verdict.kind === 'accept') {
        this.queued = [...remaining, ...this.queued.slice(index + 1)]
        return item.batch
      }
      if (verdict.kind === 'undecided') {
        this.queued = [...remaining, ...this.queued.slice(index)]
        return undefined
      }
      if (verdict.kind === 'future') remaining.push(item)
      else this.logDrop(item, verdict.kind === 'drop' ? verdict.reason : PAST_REASON)
    }
    this.queued = remaining
    return this.nextEmpty(parent, outOfData)
  }

  private async check({ batch, inclusion }: QueuedBatch, parent: L2BlockRef): Promise<BatchVerdict> {
    const context = this.context(parent, inclusion)
    return batch.type === 'singular' ? checkSingularBatch(context, batch) : checkSpanBatch(context, batch, this.l2)
  }

  private logDrop({ batch, inclusion }: QueuedBatch, reason: string): void {
    // After each reset, dozens of batches of already derived blocks arrive.
    const level = reason === PAST_REASON ? 'debug' : 'warn'
    this.logger[level]('Dropping batch', { type: batch.type, l1Block: inclusion.number, reason })
    if (reason === PAST_REASON) return
    const dropped = { l1Block: inclusion.number, type: batch.type, reason, losesChannel: false }
    this.emit({ kind: 'batch-dropped', ...dropped })
  }
}
