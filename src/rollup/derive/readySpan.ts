import type { Logger } from '../../lib/logger.ts'
import type { SingularBatch } from '../protocol/index.ts'
import type { L2BlockRef } from '../protocol/types.ts'

/** What remains of the span batch that was accepted last, given out block by block. */
export class ReadySpan {
  private readonly logger: Logger
  private readonly blockTimeS: number
  private batches: SingularBatch[] = []

  constructor(logger: Logger, blockTimeS: number) {
    this.logger = logger
    this.blockTimeS = blockTimeS
  }

  get isEmpty(): boolean {
    return this.batches.length === 0
  }

  set(batches: SingularBatch[]): void {
    this.batches = batches
  }

  clear(): void {
    this.batches = []
  }

  /** The batch due on `parent`; undefined when none is left, or the block made of the one before was not accepted. */
  next(parent: L2BlockRef): SingularBatch | undefined {
    const [next] = this.batches
    if (next === undefined) return undefined
    if (next.timestamp !== parent.timestamp + this.blockTimeS) {
      this.logger.warn('Dropping the rest of a span batch', { timestamp: next.timestamp, parent: parent.number })
      this.clear()
      return undefined
    }
    this.batches.shift()
    return { ...next, parentHash: parent.hash }
  }
}
