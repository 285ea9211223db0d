import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'

/**
 * The L1 blocks that a batch may have as origin: from the current epoch of L2 to the pipeline's origin. Both batch
 * stages check batches against it. It is kept when the pipeline switches between the stages.
 */
export class L1Window {
  private known: L1BlockRef[]
  private current: L1BlockRef

  /** `origin` is the L1 block at which the pipeline starts. */
  constructor(origin: L1BlockRef) {
    this.current = origin
    // Used only if it is the safe head's origin. Otherwise it is dropped as older.
    this.known = [origin]
  }

  get blocks(): readonly L1BlockRef[] {
    return this.known
  }

  /** The pipeline's origin at the last update. */
  get origin(): L1BlockRef {
    return this.current
  }

  /** Updates the window to the current positions of the pipeline and of L2. */
  update(pipelineOrigin: L1BlockRef, parent: L2BlockRef): void {
    if (this.current.hash !== pipelineOrigin.hash) {
      this.current = pipelineOrigin
      // L1 blocks between the reset point and the safe head's origin are not needed.
      if (this.isBehind(parent)) this.known = []
      else this.known.push(pipelineOrigin)
    }
    const first = this.known[0]
    if (first === undefined || parent.l1Origin.number <= first.number) return
    const index = this.known.findIndex((block) => block.number === parent.l1Origin.number)
    if (index > 0) this.known = this.known.slice(index)
  }

  /** Whether the pipeline has not reached the L1 origin of `parent` yet. */
  isBehind(parent: L2BlockRef): boolean {
    return this.current.number < parent.l1Origin.number
  }

  /** Removes the first epoch. */
  dropFirst(): void {
    this.known = this.known.slice(1)
  }
}
