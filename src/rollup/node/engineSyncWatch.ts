import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { Progress, progressInLog } from '../../lib/progress.ts'
import type { EngineClient } from '../engine/index.ts'

/** Interval between checks of the engine. */
const CHECK_INTERVAL_MS = 2_000

interface EngineSyncModules {
  /** Whether the sync is still running. There is only one sync. */
  isSyncing: () => boolean
  engine: Pick<EngineClient, 'ownSync'>
  clock: Clock
  logger: Logger
}

/**
 * While the engine syncs over its own network, logs its progress, rate and remaining time at intervals. Ends with the
 * sync, or when the signal aborts.
 */
export async function watchEngineSync(modules: EngineSyncModules, signal: AbortSignal): Promise<void> {
  const { isSyncing, engine, clock, logger } = modules
  const sink = progressInLog(logger.child({ module: 'engine' }))
  /** Starts when the engine knows its target. Before that it makes no progress and has no rate. */
  let underWay: { progress: Progress; from: number } | undefined
  while (!signal.aborted && isSyncing()) {
    // Other checks report an engine that does not answer.
    await check().catch(() => undefined)
    await sleep(clock, CHECK_INTERVAL_MS, signal).catch(() => undefined)
  }

  async function check(): Promise<void> {
    const sync = await engine.ownSync()
    // Until a peer has sent a header, op-geth reports a sync from 0 to 0.
    if (sync === undefined || sync.highest <= sync.current) return
    const { current, highest } = sync
    const task = { what: 'Engine is syncing over its own network', unit: 'blocks' }
    underWay ??= { progress: new Progress({ clock, sink }, task), from: current }
    const { progress, from } = underWay
    progress.advance(current - from, { total: highest - from, fields: () => ({ current, highest }) })
  }
}
