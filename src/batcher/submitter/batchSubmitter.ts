import { DeviumError, describeError } from '../../lib/errors.ts'
import type { BlockId, RollupConfig } from '../../rollup/protocol/types.ts'
import { type BatcherStatus, CostWindow } from '../admin/status.ts'
import { ChannelManager } from '../channel/channelManager.ts'
import { CHANNEL_FULL_REASONS } from '../channel/channelOut.ts'
import { type ActiveSession, ChainFollower } from '../l2/chainFollower.ts'
import { createDaChoice, fetchRollupConfig } from '../l2/chainSetup.ts'
import type { BatcherSyncStatus } from '../l2/syncStatus.ts'
import { Throttler } from '../throttle/throttler.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import type { BatchSubmitterModules } from './modules.ts'
import type { BatcherOptions } from './options.ts'
import { Publisher } from './publisher.ts'
import { SecondSubmitterWatch } from './secondSubmitter.ts'

/** A start or stop that did not do what was requested. */
export class BatcherStateError extends DeviumError<
  | 'batcher-running'
  | 'batcher-not-running'
  /** The batcher stopped before all data was on L1. */
  | 'batcher-unsaved'
  | 'batcher-stop-cancelled'
  | 'program-ending'
> {
  override readonly name = 'BatcherStateError'
}

/** State of the batcher from start to stop. */
interface Run {
  follower: ChainFollower
  stopLoading: AbortController
  stopPublishing: AbortController
  loading: Promise<void>
  publishing: Promise<void> | undefined
  /** Undefined until a stop is requested. */
  stopping: Stopping | undefined
}

/** A stop that first saves all data to L1. It runs even if nobody awaits it. */
interface Stopping {
  cancel: AbortController
  outcome: Promise<void>
}

/**
 * Posts the unsafe blocks of one sequencer to L1. It starts and stops a ChainFollower, which loads blocks, and a
 * Publisher. New blocks and confirmations wake the Publisher.
 */
export class BatchSubmitter {
  private readonly modules: BatchSubmitterModules
  private readonly options: BatcherOptions
  private rollupConfig: RollupConfig | undefined
  readonly throttler: Throttler
  private readonly secondSubmitter: SecondSubmitterWatch
  private run: Run | undefined
  /** Also kept after a run ends: `status` reads the node's last state from it. */
  private follower: ChainFollower | undefined
  /** Blocks of an earlier run that stopped before all data was on L1. */
  private kept: ChannelManager | undefined
  private lastLoaded: BlockId | undefined
  private readonly costs = new CostWindow()
  /** Aborts when the program ends. */
  private readonly ending = new AbortController()
  private ended: Promise<void> | undefined

  constructor(modules: BatchSubmitterModules, options: BatcherOptions) {
    this.modules = modules
    this.options = options
    this.secondSubmitter = new SecondSubmitterWatch(modules)
    this.throttler = new Throttler(modules, options.throttle, options.networkTimeoutMs)
  }

  get isRunning(): boolean {
    return this.run !== undefined
  }

  /** Handles a transaction that we did not send but that used one of our nonces. */
  noteForeign(tx: ForeignTx): void {
    const { follower } = this.run ?? {}
    const isPaused = follower?.isSteppingBack ?? true
    if (this.secondSubmitter.note(tx, { batchInbox: this.rollupConfig?.batchInboxAddress, isPaused }))
      follower?.stepBack('another program posts batches with this account')
  }

  /** The present state. Sends no request. */
  get status(): BatcherStatus {
    const { run, follower, modules } = this
    const { publisher } = run?.follower.session ?? {}
    const manager = run?.follower.session?.manager ?? this.kept
    const open = manager?.channels.find((channel) => !channel.isClosed && channel.blocks.length > 0)
    return {
      running: run !== undefined,
      stopping: run !== undefined && (run.stopping !== undefined || this.ending.signal.aborted),
      from: modules.sender.from,
      waitsFor: run?.follower.waitsFor,
      safe: follower?.lastStatus?.safeL2.number,
      unsafe: follower?.lastStatus?.unsafeL2.number,
      loadError: follower?.loadError,
      // Blocks of an earlier run do not count as loaded in this run.
      lastLoaded: run === undefined ? this.lastLoaded : manager?.lastLoaded,
      firstUnsaved: manager?.firstUnsaved?.number,
      pendingBlocks: manager?.pendingBlockCount ?? 0,
      heldBytes: manager?.memoryBytes ?? 0,
      unsafeDaBytes: manager?.unsafeDaBytes ?? 0,
      openChannel: open && {
        id: open.id,
        firstBlock: open.blocks[0]?.number ?? 0,
        lastBlock: open.latestL2?.number ?? 0,
        inputBytes: open.inputBytes,
        closesAt: open.closesAt && {
          l1Block: open.closesAt.l1Block,
          reason: CHANNEL_FULL_REASONS[open.closesAt.reason],
        },
      },
      channelsToConfirm:
        manager?.channels.filter(({ isClosed, isFullySubmitted }) => isClosed && !isFullySubmitted).length ?? 0,
      l1Head: modules.heads.latest?.number,
      l1: modules.heads.reachability,
      lastHour: this.costs.sum(modules.clock.now()),
      sendError: publisher?.sendError,
      rollupNode: follower?.rollupNode ?? { lastAnswerMs: undefined, error: undefined },
      inFlight: modules.sender.sending,
      cancelling: modules.sender.cancelling,
      craftProblem: modules.sender.problem,
      throttling: this.throttler.isThrottling,
    }
  }

  /**
   * Starts loading at the safe head, or cancels a running stop. Throws BatcherStateError if the batcher runs and no
   * stop is running.
   */
  async start(): Promise<void> {
    this.requireProgram()
    const { run } = this
    if (run === undefined) return this.begin()
    const { stopping } = run
    if (stopping === undefined || stopping.cancel.signal.aborted)
      throw new BatcherStateError('batcher-running', 'batcher is already running')
    stopping.cancel.abort(
      new BatcherStateError(
        'batcher-stop-cancelled',
        'admin_startBatcher cancelled the stop before all data was saved to L1. The batcher continues',
      ),
    )
    await stopping.outcome.catch(() => {})
    // The stop failed before it could be cancelled.
    if (this.run === undefined) this.begin()
  }

  private begin(): void {
    this.modules.logger.info('Starting Batch Submitter')
    const follower = new ChainFollower(
      {
        ...this.modules,
        throttler: this.throttler,
        connect: (status, signal) => this.connect(run, status, signal),
      },
      this.options,
    )
    const run: Run = {
      follower,
      stopLoading: new AbortController(),
      stopPublishing: new AbortController(),
      loading: Promise.resolve(),
      publishing: undefined,
      stopping: undefined,
    }
    this.run = run
    this.follower = follower
    run.loading = follower.follow(run.stopLoading.signal)
    this.modules.metrics.up(true)
    this.modules.logger.info('Batch Submitter started')
  }

  /**
   * Saves all blocks up to the present unsafe head to L1, waits for the confirmations, and stops. A call during a stop
   * joins that stop. If not all blocks can be saved, the batcher stops anyway: the error names the first unsaved block,
   * and the next start posts the held blocks. Throws BatcherStateError, also when `start` cancels the stop.
   */
  stop(): Promise<void> {
    this.requireProgram()
    const run = this.requireRun()
    run.stopping ??= this.beginStop(run)
    return run.stopping.outcome
  }

  private beginStop(run: Run): Stopping {
    const cancel = new AbortController()
    const outcome = this.saveAndFinish(run, cancel.signal)
    // The caller may have disconnected: prevent an unhandled rejection.
    outcome.catch(() => {})
    return { cancel, outcome }
  }

  private async saveAndFinish(run: Run, cancelled: AbortSignal): Promise<void> {
    const { logger } = this.modules
    logger.info('Stopping Batch Submitter')
    try {
      await this.endLoading(run)
      await run.follower.loadToHead(AbortSignal.any([cancelled, this.ending.signal]))
      await this.endPublishing(run)
      await run.follower.session?.publisher.drain(cancelled)
      cancelled.throwIfAborted()
      if (run.follower.session?.manager.firstUnsaved !== undefined)
        throw new DeviumError('txmgr-closed', 'the program is ending')
    } catch (cause) {
      await this.endPublishing(run)
      if (cancelled.aborted && !this.ending.signal.aborted) {
        this.goOn(run)
        throw cancelled.reason
      }
      throw await this.finishUnsaved(run, cause)
    }
    this.finish(run)
    logger.info('Batch Submitter stopped')
  }

  private goOn(run: Run): void {
    const { publisher } = run.follower.session ?? {}
    run.stopping = undefined
    run.stopLoading = new AbortController()
    run.stopPublishing = new AbortController()
    run.loading = run.follower.follow(run.stopLoading.signal)
    run.publishing = publisher?.run(run.stopPublishing.signal)
    publisher?.request()
    this.modules.logger.info('Batch Submitter continues: its stop was cancelled')
  }

  private async finishUnsaved(run: Run, cause: unknown): Promise<BatcherStateError> {
    const { manager, publisher } = run.follower.session ?? {}
    publisher?.cancelAll(cause)
    await publisher?.sendsEnded()
    const first = manager?.firstUnsaved?.number
    this.modules.logger.warn('Stopped before all data was saved to L1', { first_unsaved: first, err: cause })
    this.kept = manager
    this.finish(run)
    const blocks = first === undefined ? 'not all L2 blocks are' : `L2 blocks from ${first} on are not`
    const message = `batcher stopped, but ${blocks} saved to L1 (${describeError(cause)}). The next start posts them`
    return new BatcherStateError('batcher-unsaved', message, { cause })
  }

  /**
   * Ends loading and sending at once, without waiting for sent transactions: the next start finds them. A running stop
   * fails unless all data is confirmed. Does nothing if the batcher is stopped.
   */
  shutdown(): Promise<void> {
    this.ended ??= this.end()
    return this.ended
  }

  private async end(): Promise<void> {
    this.ending.abort(new BatcherStateError('program-ending', 'the program is ending'))
    this.modules.sender.close()
    this.throttler.stop()
    const { run } = this
    if (run === undefined) return
    if (run.stopping !== undefined) {
      run.follower.session?.publisher.request()
      await run.stopping.outcome.catch(() => {})
      return
    }
    this.modules.logger.info('Stopping Batch Submitter')
    await this.endLoading(run)
    await this.endPublishing(run)
    await run.follower.session?.publisher.sendsEnded()
    const unsaved = run.follower.session?.manager.firstUnsaved
    this.finish(run)
    if (unsaved === undefined) this.modules.logger.info('Batch Submitter stopped')
    else this.modules.logger.warn('Stopped before all data was saved to L1', { first_unsaved: unsaved.number })
  }

  /** Closes the open channel now and sends it. Throws BatcherStateError if the batcher is stopped. */
  flush(): void {
    this.requireRun().follower.flush()
  }

  private requireProgram(): void {
    if (this.ending.signal.aborted) throw this.ending.signal.reason
  }

  private requireRun(): Run {
    if (this.run === undefined) throw new BatcherStateError('batcher-not-running', 'batcher is not running')
    return this.run
  }

  private async endLoading(run: Run): Promise<void> {
    run.stopLoading.abort(new DeviumError('batcher-stopping', 'the batcher is being stopped'))
    await run.loading
  }

  private async endPublishing(run: Run): Promise<void> {
    run.stopPublishing.abort()
    await run.publishing
  }

  private finish(run: Run): void {
    this.lastLoaded = run.follower.session?.manager.lastLoaded ?? this.lastLoaded
    // Frees the compressors of channels that are still open.
    if (this.kept === run.follower.session?.manager) this.kept?.requeue()
    else run.follower.session?.manager.clear(0)
    this.run = undefined
    this.modules.metrics.up(false)
  }

  private async connect(run: Run, status: BatcherSyncStatus, signal: AbortSignal): Promise<ActiveSession> {
    const { clock, heads, logger, metrics, sender } = this.modules
    this.rollupConfig ??= await fetchRollupConfig(this.modules, this.options.networkTimeoutMs, signal)
    const rollupConfig = this.rollupConfig
    const createManager = () => {
      const da = createDaChoice({ ...this.modules, throttler: this.throttler }, this.options, rollupConfig)
      return new ChannelManager({ logger, metrics }, { da, rollupConfig })
    }
    const manager = this.kept ?? createManager()
    const isKept = this.kept !== undefined
    this.kept = undefined
    const publisher = new Publisher(
      { manager, sender, heads, clock, logger, metrics, costs: this.costs },
      {
        batchInbox: rollupConfig.batchInboxAddress,
        maxPendingTx: this.options.maxPendingTx,
        txsInFlight: manager.da.config.txsInFlight,
        retryMs: this.options.pollIntervalMs,
      },
    )
    if (!isKept) manager.clear(status.safeL2.l1OriginNumber)
    logger.info('Starting batch-submitter work at safe-head', {
      safe: status.safeL2.number,
      unsafe: status.unsafeL2.number,
    })
    run.publishing = publisher.run(run.stopPublishing.signal)
    return { manager, publisher }
  }
}
