import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { BuildJob, BuiltBlock } from '../chain/building.ts'

/** geth keeps as many payloads (`eth/catalyst/queue.go`) and stops improving one after 12 s. */
const MAX_JOBS = 10
const IMPROVE_LIMIT_MS = 12_000

interface Tracked {
  job: Promise<BuildJob>
  cancelTimer: () => void
}

/** Blocks under construction and built blocks, by payload id. The oldest is evicted. */
export class BuildJobs {
  private readonly jobs = new Map<Hex, Tracked>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Starts the job unless the id is known. If the start fails, rejects and removes the id. */
  async start(id: Hex, create: () => Promise<BuildJob>): Promise<void> {
    const known = this.jobs.get(id)
    if (known !== undefined) {
      await known.job
      return
    }
    const tracked: Tracked = { job: create(), cancelTimer: () => {} }
    this.jobs.set(id, tracked)
    if (this.jobs.size > MAX_JOBS) this.dropOldest()
    try {
      const job = await tracked.job
      // A block that is never requested must not follow the pool forever.
      tracked.cancelTimer = this.clock.setTimeout(() => void job.seal().catch(() => {}), IMPROVE_LIMIT_MS)
    } catch (error) {
      this.jobs.delete(id)
      throw error
    }
  }

  /** The finished block; undefined for an unknown id. If building failed, rejects and removes the id. */
  async take(id: Hex): Promise<BuiltBlock | undefined> {
    const tracked = this.jobs.get(id)
    if (tracked === undefined) return undefined
    tracked.cancelTimer()
    try {
      return await (await tracked.job).seal()
    } catch (error) {
      this.jobs.delete(id)
      throw error
    }
  }

  close(): void {
    while (this.jobs.size > 0) this.dropOldest()
  }

  private dropOldest(): void {
    for (const [id, { job, cancelTimer }] of this.jobs) {
      this.jobs.delete(id)
      cancelTimer()
      job.then(
        (started) => started.cancel(),
        () => {},
      )
      return
    }
  }
}
