import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { Progress, progressInLog } from '../../lib/progress.ts'
import type { EngineClient } from '../engine/index.ts'

/** Between looks at the engine. */
const LOOK_MS = 2_000

/** While the engine syncs by its own network, writes a line now and then on how far it is, how fast, and how long it will still take. */
export class EngineSyncWatch {
  private readonly isSyncing: () => boolean
  private readonly engine: Pick<EngineClient, 'ownSync'>
  private readonly clock: Clock
  private readonly progress: Progress
  private from: number | undefined

  constructor({
    isSyncing,
    engine,
    clock,
    logger,
  }: {
    /** Whether the sync is still to end; there is only one. */
    isSyncing: () => boolean
    engine: Pick<EngineClient, 'ownSync'>
    clock: Clock
    logger: Logger
  }) {
    this.isSyncing = isSyncing
    this.engine = engine
    this.clock = clock
    const sink = progressInLog(logger.child({ module: 'engine' }))
    this.progress = new Progress({ clock, sink }, { what: 'Engine syncs by its own network', unit: 'blocks' })
  }

  /** Until the sync is over, or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.isSyncing()) {
      // One that does not answer now is told of elsewhere.
      await this.look().catch(() => undefined)
      await sleep(this.clock, LOOK_MS, signal).catch(() => undefined)
    }
  }

  private async look(): Promise<void> {
    const sync = await this.engine.ownSync()
    if (sync === undefined) return
    const { current, highest } = sync
    this.from ??= current
    this.progress.advance(current - this.from, { total: highest - this.from, fields: () => ({ current, highest }) })
  }
}
