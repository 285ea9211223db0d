import { sleep } from '../../lib/clock.ts'
import { describeError, severityOf } from '../../lib/errors.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import type { EngineController, PrepareDeposits, StartHeadsOptions } from '../engine/index.ts'
import type { BlockId, L1BlockRef, RollupConfig } from '../protocol/types.ts'
import type { DerivationRecorder } from './derivationRecorder.ts'
import { STARTING } from './explainDerivation.ts'
import { FollowError, type FollowSource } from './followSource.ts'
import type { NodeMetrics } from './metrics.ts'
import { type ResetHeadsModules, resetHeads } from './resetHeads.ts'
import { ResetRequests } from './resetRequests.ts'

export interface FollowModules extends ResetHeadsModules {
  source: Pick<FollowSource, 'url' | 'status'>
  controller: Pick<EngineController, 'syncing' | 'heads' | 'reset' | 'follow'>
  /** Builds blocks that replace invalid blocks. Absent: these blocks must come from elsewhere. */
  prepare?: PrepareDeposits | undefined
  metrics: Pick<NodeMetrics, 'followed' | 'pipelineReset' | 'derivationError' | 'l1Ref'>
  recorder: DerivationRecorder
}

/** op-node polls its source every other block. */
const BLOCKS_PER_ROUND = 2
/** Failures in a row between two log lines. */
const FAILURES_PER_LINE = 32

/**
 * Follow mode: this node derives nothing. It adopts the safe and finalized heads of another node, as long as that
 * node's L1 is ours. It replaces `DerivationLoop`.
 */
export class FollowLoop {
  private readonly modules: FollowModules
  private readonly config: RollupConfig
  private readonly startOptions: StartHeadsOptions
  private readonly resets: ResetRequests
  private readonly safeLines: RoutineLines
  private sourceL1: L1BlockRef | undefined
  private loggedSafe = 0
  private failures = 0

  constructor(modules: FollowModules, config: RollupConfig, startOptions: StartHeadsOptions = {}) {
    this.modules = modules
    this.config = config
    this.startOptions = startOptions
    this.safeLines = new RoutineLines(modules, 'Advanced safe head')
    this.resets = new ResetRequests((reason) => modules.recorder.resetRequested(reason))
  }

  /** The L1 block that the source derives from, if it is on our L1; undefined until known, and during a reset. */
  get currentL1(): L1BlockRef | undefined {
    return this.resets.open ? undefined : this.sourceL1
  }

  /** Rounds are timed. */
  wake(): void {}

  /** The source reports the finalized head. */
  async tryFinalize(): Promise<void> {}

  requestReset(reason: string): Promise<void> {
    return this.resets.request(reason)
  }

  /** Runs until the signal aborts. Rejects with an error of critical severity. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, source } = this.modules
    logger.info('Follow mode: adopting the safe and finalized heads of another node', { from: source.url })
    this.requestReset(STARTING).catch(() => undefined)
    try {
      while (!signal.aborted) {
        await this.round(signal)
        await sleep(clock, BLOCKS_PER_ROUND * this.config.blockTime * 1000, signal).catch(() => undefined)
      }
    } finally {
      this.resets.stop()
    }
  }

  private async round(signal: AbortSignal): Promise<void> {
    const { controller, metrics, recorder, logger } = this.modules
    // The engine syncs over its own network. Its heads are found when the sync has ended.
    if (controller.syncing) return
    try {
      if (this.resets.open) await this.reset(signal)
      await this.takeOver(signal)
      if (this.failures > 0) logger.info('Following continues', { failures: this.failures })
      this.failures = 0
      recorder.recovered()
      recorder.stepped(true)
    } catch (error) {
      if (signal.aborted) return
      if (severityOf(error) === 'critical') throw error
      if (error instanceof FollowError) metrics.followed(error.code)
      else metrics.derivationError()
      recorder.failed(error)
      if (severityOf(error) === 'reset') this.requestReset(describeError(error)).catch(() => undefined)
      const log = this.failures++ % FAILURES_PER_LINE === 0 ? logger.warn : logger.debug
      log.call(logger, 'Could not follow the source', { err: error, failures: this.failures })
    }
  }

  private async reset(signal: AbortSignal): Promise<void> {
    const { metrics, recorder } = this.modules
    const heads = await resetHeads(this.modules, this.config, { ...this.startOptions, signal })
    this.loggedSafe = heads.safe.number
    metrics.pipelineReset()
    recorder.resetDone()
    this.resets.done()
  }

  private async takeOver(signal: AbortSignal): Promise<void> {
    const { source, controller, prepare, metrics } = this.modules
    const { localSafe, safe, finalized, currentL1 } = await source.status(signal)
    await this.checkOnL1(localSafe.l1Origin, 'the L1 origin of its local safe head')
    await this.checkOnL1(safe.l1Origin, 'the L1 origin of its safe head')
    await this.checkOnL1(finalized.l1Origin, 'the L1 origin of its finalized head')
    if (currentL1 !== undefined) {
      this.sourceL1 = await this.checkOnL1(currentL1, 'the L1 block that it derives from')
      metrics.l1Ref('l1_derived', this.sourceL1)
    }
    metrics.followed('success')
    await controller.follow({ localSafe, safe, finalized }, prepare)
    const reached = controller.heads.safe
    if (reached.number === this.loggedSafe) return
    this.loggedSafe = reached.number
    this.safeLines.write({ number: reached.number, hash: reached.hash, l1: currentL1?.number }, { isNews: false })
  }

  /** A source with another L1 chain, or on another L1 fork, is not followed. */
  private async checkOnL1({ hash, number }: BlockId, what: string): Promise<L1BlockRef> {
    const { l1, source } = this.modules
    let found: L1BlockRef | undefined
    try {
      found = await l1.blockInfoByNumber(number)
    } catch (cause) {
      throw new FollowError('error_l1_lookup', `L1 block ${number} could not be read`, cause)
    }
    if (found === undefined) {
      throw new FollowError('error_l1_lookup', `our L1 has no block ${number} yet, ${what} at ${source.url}`)
    }
    if (found.hash === hash) return found
    throw new FollowError(
      'error_l1_mismatch',
      `${what} at ${source.url} is ${hash}, our L1's block ${number} ${found.hash}`,
    )
  }
}
