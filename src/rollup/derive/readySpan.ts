import type { Logger } from '../../lib/logger.ts'
import type { SingularBatch, SpanBatch } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'

/** The remaining blocks of the last accepted span batch, returned one by one. */
export class ReadySpan {
  private readonly logger: Logger
  private readonly blockTimeS: number
  private batch: SpanBatch | undefined
  private position = 0
  private l1Blocks: readonly L1BlockRef[] = []

  constructor(logger: Logger, blockTimeS: number) {
    this.logger = logger
    this.blockTimeS = blockTimeS
  }

  get isEmpty(): boolean {
    return this.batch === undefined
  }

  /**
   * Sets the blocks above `safeHead`. Their parent hashes are set later, as the chain grows. Returns false if a block's
   * L1 origin is not in `l1Blocks`, which must be consecutive.
   */
  set(batch: SpanBatch, { l1Blocks, safeHead }: { l1Blocks: readonly L1BlockRef[]; safeHead: L2BlockRef }): boolean {
    const ahead = (safeHead.timestamp - batch.timestampAt(0)) / this.blockTimeS + 1
    const first = Math.max(0, ahead)
    // Origins do not decrease within an accepted batch, so checking the first and the last is sufficient.
    const isKnown = (index: number) => originOf(l1Blocks, batch.epochNumberAt(index)) !== undefined
    if (!isKnown(first) || !isKnown(batch.blockCount - 1)) return false
    this.batch = batch
    this.position = first
    this.l1Blocks = l1Blocks
    return true
  }

  clear(): void {
    this.batch = undefined
    this.l1Blocks = []
  }

  /** The batch to build on `parent`; undefined if none is left, or if the previous block was not accepted. */
  next(parent: L2BlockRef): SingularBatch | undefined {
    const { batch, position } = this
    if (batch === undefined) return undefined
    const timestamp = batch.timestampAt(position)
    const origin = originOf(this.l1Blocks, batch.epochNumberAt(position))
    if (timestamp !== parent.timestamp + this.blockTimeS || origin === undefined) {
      this.logger.warn('Dropping the rest of a span batch', { timestamp, parent: parent.number })
      this.clear()
      return undefined
    }
    const transactions = batch.transactionsAt(position)
    this.position++
    if (this.position === batch.blockCount) this.clear()
    return {
      type: 'singular',
      parentHash: parent.hash,
      epochNumber: origin.number,
      epochHash: origin.hash,
      timestamp,
      transactions,
    }
  }
}

function originOf(l1Blocks: readonly L1BlockRef[], epochNumber: number): L1BlockRef | undefined {
  return l1Blocks[epochNumber - (l1Blocks[0]?.number ?? 0)]
}
