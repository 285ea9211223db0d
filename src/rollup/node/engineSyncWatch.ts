import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { Progress, type ProgressSink, progressInLog } from '../../lib/progress.ts'
import type { EngineClient } from '../engine/index.ts'

/** Between looks at the engine. */
const LOOK_MS = 2_000

/** While the engine syncs by its own network, writes a line now and then on how far it is, how fast, and how long it will still take. */
export class EngineSyncWatch {
  private readonly isSyncing: () => boolean
  private readonly engine: Pick<EngineClient, 'ownSync'>
  private readonly clock: Clock
  private readonly sink: ProgressSink
  /** From the first look on at which it knew how far it has to go: before that it gets nowhere, and has no rate. */
  private underWay: { progress: Progress; from: number } | undefined

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
    this.sink = progressInLog(logger.child({ module: 'engine' }))
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
    // op-geth says that it syncs, from 0 to 0, as long as no peer has given it a header.
    if (sync === undefined || sync.highest <= sync.current) return
    const { current, highest } = sync
    const { clock, sink } = this
    this.underWay ??= {
      progress: new Progress({ clock, sink }, { what: 'Engine syncs by its own network', unit: 'blocks' }),
      from: current,
    }
    const { progress, from } = this.underWay
    progress.advance(current - from, { total: highest - from, fields: () => ({ current, highest }) })
  }
}
