import { DeviumError, describeError, severityOf } from '../../lib/errors.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import { WakeUp } from '../../lib/wakeUp.ts'
import type { DerivationPipeline, DerivedAttributes } from '../derive/index.ts'
import {
  type AttributesOutcome,
  type EngineController,
  StartHeadsError,
  type StartHeadsOptions,
} from '../engine/index.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import type { DerivationRecorder } from './derivationRecorder.ts'
import { STARTING } from './explainDerivation.ts'
import type { FinalityTracker } from './finality.ts'
import type { NodeMetrics } from './metrics.ts'
import { type ResetHeadsModules, resetHeads } from './resetHeads.ts'
import { ResetRequests } from './resetRequests.ts'
import type { SafeHeadDb } from './safeHeadDb.ts'

export interface DerivationModules extends ResetHeadsModules {
  pipeline: DerivationPipeline
  /** Absent: no history of safe heads is kept. */
  safeHeads?: Pick<SafeHeadDb, 'record' | 'flush' | 'truncate'> | undefined
  controller: Pick<
    EngineController,
    'ready' | 'syncing' | 'heads' | 'reset' | 'processAttributes' | 'updateForkchoice' | 'setFinalized'
  >
  finality: FinalityTracker
  metrics: NodeMetrics
  recorder: DerivationRecorder
}

/** op-node's back-off between steps: from 1 s, doubling to 10 s, with 250 ms of jitter. */
const backoff = exponentialBackoff(1000, 10_000, 250)
/** Failures in a row between two log lines: five minutes at the longest back-off. */
const FAILURES_PER_LINE = 32

class HistoryError extends DeviumError<'l1-genesis'> {
  override readonly name = 'HistoryError'
}

/** Reads L1 and makes L2 blocks safe, step by step. It starts with a reset that finds the start heads. */
export class DerivationLoop {
  private readonly modules: DerivationModules
  private readonly config: RollupConfig
  private readonly startOptions: StartHeadsOptions
  private readonly wakeUp: WakeUp
  private readonly safeLines: RoutineLines
  private readonly finalizedLines: RoutineLines
  private readonly resets: ResetRequests
  private derived: DerivedAttributes | undefined
  private loggedSafe = 0
  private isPipelineReady = false
  /** Failures since derivation last advanced. */
  private failures = 0
  /** The height that derivation must exceed after a reset caused by an error; undefined if there was none. */
  private failedAt: number | undefined

  constructor(modules: DerivationModules, config: RollupConfig, startOptions: StartHeadsOptions = {}) {
    this.modules = modules
    this.config = config
    this.startOptions = startOptions
    this.wakeUp = new WakeUp(modules.clock)
    this.safeLines = new RoutineLines(modules, 'Advanced safe head')
    this.finalizedLines = new RoutineLines(modules, 'Finalized L2 block')
    this.resets = new ResetRequests((reason) => {
      modules.recorder.resetRequested(reason)
      this.wakeUp.wake()
    })
  }

  /** The L1 block that derivation reads; undefined until the first reset has ended, and during a reset. */
  get currentL1(): L1BlockRef | undefined {
    return this.isPipelineReady ? this.modules.pipeline.origin : undefined
  }

  /** Called when L1 has a new head, and when the engine's own sync has ended. */
  wake(): void {
    this.wakeUp.wake()
  }

  /**
   * Resets heads and pipeline. Resolves when the reset has succeeded. Rejects if the node stops first. `reason`
   * completes a sentence: "because …".
   */
  requestReset(reason: string): Promise<void> {
    return this.resets.request(reason)
  }

  /**
   * Finalizes the blocks that the last signal from L1 makes final. Errors are logged. If it finds a reorg, it requests
   * a reset.
   */
  async tryFinalize(): Promise<void> {
    const { finality, controller, logger } = this.modules
    try {
      if (!controller.ready) return
      const block = await finality.find(controller.heads.finalized)
      if (block === undefined) return
      // A start goes back at most to the finalized block, so the records up to it must not be lost.
      await this.modules.safeHeads?.flush()
      controller.setFinalized(block)
      await controller.updateForkchoice()
      this.finalizedLines.write({ number: block.number, hash: block.hash }, { isNews: false })
    } catch (error) {
      logger.warn('Could not finalize', { err: error })
      if (severityOf(error) === 'reset') this.startReset(describeError(error))
    }
  }

  /** Runs until the signal aborts. Rejects with an error of critical severity. */
  async run(signal: AbortSignal): Promise<void> {
    this.startReset(STARTING)
    try {
      await this.loop(signal)
    } finally {
      this.resets.stop()
    }
  }

  private async loop(signal: AbortSignal): Promise<void> {
    const { metrics, recorder } = this.modules
    while (!signal.aborted) {
      try {
        const progress = await this.step(signal)
        if (this.hasRecovered(progress)) this.reportRecovery()
        metrics.derivationIdle(progress === 'idle')
        recorder.stepped(progress === 'idle')
        if (progress === 'idle') await this.wakeUp.wait(signal)
      } catch (error) {
        if (signal.aborted) return
        metrics.derivationError()
        recorder.failed(error)
        this.failures++
        const isNewReset = this.handleError(error)
        // The first reset runs at once. An engine or L1 that keeps causing resets gets time.
        if (!isNewReset || this.failures > 1) await this.wakeUp.wait(signal, backoff(this.failures))
      }
    }
  }

  /**
   * Whether derivation has advanced. A reset does not count, nor do the steps up to the height of the failure: the
   * cause may remain, and resets would repeat endlessly.
   */
  private hasRecovered(progress: 'reset' | 'worked' | 'idle'): boolean {
    if (this.failures === 0 || progress === 'reset') return false
    const { failedAt } = this
    return progress === 'idle' || failedAt === undefined || this.modules.controller.heads.pendingSafe.number > failedAt
  }

  /** Returns true if the error caused a new reset. Throws errors that must stop the node. */
  private handleError(error: unknown): boolean {
    const { logger, controller } = this.modules
    const { failures } = this
    const severity = severityOf(error)
    if (severity === 'critical') throw error
    const isNewReset = severity === 'reset' && !this.resets.open
    const message = isNewReset
      ? 'Derivation needs a reset'
      : controller.ready
        ? 'Derivation step failed'
        : 'Could not find the start heads'
    if (isNewReset) {
      this.failedAt = Math.max(this.failedAt ?? 0, controller.heads.pendingSafe.number)
      this.startReset(describeError(error))
    }
    // One line for the start of an outage and one line at intervals. The last line reports its end.
    if (failures % FAILURES_PER_LINE === 1) {
      const fields = { err: error, ...(failures === 1 ? {} : { failures }) }
      // An error of the start that needs the operator names a block and a remedy.
      if (error instanceof StartHeadsError) logger.error(message, fields)
      else logger.warn(message, fields)
    } else logger.debug(message, { err: error, failures })
    return isNewReset
  }

  private startReset(reason: string): void {
    this.requestReset(reason).catch(() => undefined)
  }

  private reportRecovery(): void {
    this.modules.logger.info('Derivation continues', { failures: this.failures })
    this.failures = 0
    this.failedAt = undefined
    this.modules.recorder.recovered()
  }

  /** Returns `idle` if nothing can be done before L1 has a new block. */
  private async step(signal: AbortSignal): Promise<'reset' | 'worked' | 'idle'> {
    const { pipeline, controller, finality } = this.modules
    if (this.resets.open && !controller.syncing) {
      await this.reset(signal)
      return 'reset'
    }
    // The engine syncs over its own network, so there is no head to derive on.
    if (controller.syncing) return 'idle'
    if (this.derived === undefined) {
      const result = await untilAborted(pipeline.step(controller.heads.pendingSafe, signal), signal)
      if (result.kind === 'attributes') this.derived = result.derived
      if (result.kind === 'origin') this.modules.metrics.l1Ref('l1_derived', result.origin)
      if (result.kind === 'origin' || result.kind === 'idle') {
        await this.modules.safeHeads?.flush()
        await controller.updateForkchoice()
        this.reportSafe()
        if (finality.isDue(pipeline.origin.number)) await this.tryFinalize()
      }
      // If a reset was requested during the step, the step's result is dropped.
      if (this.resets.open) return 'worked'
      if (result.kind === 'idle') return 'idle'
    }
    if (this.derived !== undefined) {
      this.handleOutcome(await controller.processAttributes(this.derived), this.derived)
      this.derived = undefined
    }
    return 'worked'
  }

  private handleOutcome(outcome: AttributesOutcome, derived: DerivedAttributes): void {
    const { pipeline, controller, finality, logger } = this.modules
    if (outcome.kind === 'replaced') pipeline.flushChannel()
    if (outcome.kind === 'stale' || outcome.kind === 'dropped') return
    if (outcome.kind === 'built') {
      logger.info('Built L2 block from L1', {
        number: outcome.block.number,
        hash: outcome.block.hash,
        origin: outcome.block.l1Origin.number,
        derivedFrom: derived.derivedFrom.number,
        reorged: outcome.reorged,
      })
    }
    if (controller.heads.safe.hash !== outcome.block.hash) return
    finality.record(derived.derivedFrom, outcome.block)
    this.modules.safeHeads?.record(derived.derivedFrom, outcome.block)
  }

  private async reset(signal: AbortSignal): Promise<void> {
    const { pipeline, finality, metrics, recorder } = this.modules
    this.isPipelineReady = false
    this.derived = undefined
    const heads = await resetHeads(this.modules, this.config, { ...this.startOptions, signal })
    finality.reset()
    await this.resetHistory(heads.safe)
    await untilAborted(pipeline.reset(heads.safe, signal), signal)
    this.isPipelineReady = true
    this.loggedSafe = heads.safe.number
    metrics.pipelineReset()
    recorder.resetDone()
    this.resets.done()
  }

  /**
   * Genesis is safe by definition. If derivation starts at genesis, it is recorded for L1's first block, as in op-node.
   */
  private async resetHistory(safe: L2BlockRef): Promise<void> {
    const { safeHeads, l1 } = this.modules
    if (safeHeads === undefined) return
    await safeHeads.truncate(safe)
    if (safe.hash !== this.config.genesis.l2.hash) return
    const first = await l1.blockInfoByNumber(0)
    if (first === undefined) throw new HistoryError('l1-genesis', 'L1 has no block 0')
    safeHeads.record(first, safe)
    await safeHeads.flush()
  }

  private reportSafe(): void {
    const { safe } = this.modules.controller.heads
    if (safe.number <= this.loggedSafe) return
    this.loggedSafe = safe.number
    const { number: l1 } = this.modules.pipeline.origin
    this.safeLines.write({ number: safe.number, hash: safe.hash, l1 }, { isNews: false })
  }
}
