import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { Progress, type ProgressSink, progressInLog } from '../../lib/progress.ts'
import type { EngineClient } from '../engine/index.ts'

/** Interval between checks of the engine. */
const CHECK_INTERVAL_MS = 2_000

/** While the engine syncs over its own network, logs its progress, rate and remaining time at intervals. */
export class EngineSyncWatch {
  private readonly isSyncing: () => boolean
  private readonly engine: Pick<EngineClient, 'ownSync'>
  private readonly clock: Clock
  private readonly sink: ProgressSink
  /** Starts when the engine knows its target. Before that it makes no progress and has no rate. */
  private underWay: { progress: Progress; from: number } | undefined

  constructor({
    isSyncing,
    engine,
    clock,
    logger,
  }: {
    /** Whether the sync is still running. There is only one sync. */
    isSyncing: () => boolean
    engine: Pick<EngineClient, 'ownSync'>
    clock: Clock
    logger: Logger
  }) {
    this.isSyncing = isSyncing
    this.engine = engine
    this.clock = clock
    this.sink = progressInLog(logger.child({ module: 'engine' }))
  }

  /** Runs until the sync has ended, or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.isSyncing()) {
      // Other checks report an engine that does not answer.
      await this.check().catch(() => undefined)
      await sleep(this.clock, CHECK_INTERVAL_MS, signal).catch(() => undefined)
    }
  }

  private async check(): Promise<void> {
    const sync = await this.engine.ownSync()
    // Until a peer has sent a header, op-geth reports a sync from 0 to 0.
    if (sync === undefined || sync.highest <= sync.current) return
    const { current, highest } = sync
    const { clock, sink } = this
    this.underWay ??= {
      progress: new Progress({ clock, sink }, { what: 'Engine is syncing over its own network', unit: 'blocks' }),
      from: current,
    }
    const { progress, from } = this.underWay
    progress.advance(current - from, { total: highest - from, fields: () => ({ current, highest }) })
  }
}
