import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'

/**
 * The L1 blocks that a batch may have as origin: from the epoch L2 stands in up to the pipeline's origin. Both batch
 * stages judge batches against it, and it outlives the switch from one to the other.
 */
export class L1Window {
  private known: L1BlockRef[]
  private current: L1BlockRef

  /** `origin` is where the pipeline starts. */
  constructor(origin: L1BlockRef) {
    this.current = origin
    // It counts where the safe head's origin is just this block; otherwise it is thrown out as older.
    this.known = [origin]
  }

  get blocks(): readonly L1BlockRef[] {
    return this.known
  }

  /** The pipeline's origin as of the last update. */
  get origin(): L1BlockRef {
    return this.current
  }

  /** Takes in where the pipeline and L2 stand now. */
  update(pipelineOrigin: L1BlockRef, parent: L2BlockRef): void {
    if (this.current.hash !== pipelineOrigin.hash) {
      this.current = pipelineOrigin
      // On the way from the reset point to the safe head's origin nothing is known that counts.
      if (this.isBehind(parent)) this.known = []
      else this.known.push(pipelineOrigin)
    }
    const first = this.known[0]
    if (first === undefined || parent.l1Origin.number <= first.number) return
    const index = this.known.findIndex((block) => block.number === parent.l1Origin.number)
    if (index > 0) this.known = this.known.slice(index)
  }

  /** Whether the pipeline has yet to reach the L1 origin of `parent`. */
  isBehind(parent: L2BlockRef): boolean {
    return this.current.number < parent.l1Origin.number
  }

  /** Leaves the first epoch. */
  dropFirst(): void {
    this.known = this.known.slice(1)
  }
}
