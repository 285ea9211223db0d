import { DeviumError, describeError } from '../../lib/errors.ts'
import type { BlockId, RollupConfig } from '../../rollup/protocol/types.ts'
import { type BatcherStatus, CostWindow } from '../admin/status.ts'
import { ChannelManager } from '../channel/channelManager.ts'
import { CHANNEL_FULL_REASONS } from '../channel/channelOut.ts'
import { type Chain, ChainFollower } from '../l2/chainFollower.ts'
import { createDaChoice, fetchRollupConfig } from '../l2/chainSetup.ts'
import type { BatcherSyncStatus } from '../l2/syncStatus.ts'
import { Throttler } from '../throttle/throttler.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import type { BatchSubmitterModules } from './modules.ts'
import type { BatcherOptions } from './options.ts'
import { Publisher } from './publisher.ts'
import { SecondSubmitterWatch } from './secondSubmitter.ts'

/** A start or a stop that does not do what was asked for. */
export class BatcherStateError extends DeviumError<
  | 'batcher-running'
  | 'batcher-not-running'
  /** The stop is over, and not all data are on L1. */
  | 'batcher-unsaved'
  /** The stop was cancelled by a start. */
  | 'batcher-stop-cancelled'
  | 'program-ending'
> {
  override readonly name = 'BatcherStateError'
}

/** From start to stop. */
interface Run {
  follower: ChainFollower
  stopLoading: AbortController
  stopPublishing: AbortController
  loading: Promise<void>
  publishing: Promise<void> | undefined
  /** Undefined: nobody has asked for a stop. */
  stopping: Stopping | undefined
}

/** A stop that saves all data first. Nobody need wait for it. */
interface Stopping {
  cancel: AbortController
  outcome: Promise<void>
}

/**
 * Posts the unsafe blocks of one sequencer to L1: starts and stops what follows the L2 chain, and the publishing beside it,
 * which is woken by new blocks and by confirmations.
 */
export class BatchSubmitter {
  private readonly modules: BatchSubmitterModules
  private readonly options: BatcherOptions
  private rollupConfig: RollupConfig | undefined
  readonly throttler: Throttler
  private readonly secondSubmitter: SecondSubmitterWatch
  private run: Run | undefined
  /** That of the last run stays: it knows where the node stood. */
  private follower: ChainFollower | undefined
  /** What a run that was stopped too early still held. */
  private kept: ChannelManager | undefined
  private lastLoaded: BlockId | undefined
  private readonly costs = new CostWindow()
  /** Aborts when the program ends. */
  private readonly ending = new AbortController()
  private ended: Promise<void> | undefined

  constructor(modules: BatchSubmitterModules, options: BatcherOptions) {
    this.modules = modules
    this.options = options
    this.secondSubmitter = new SecondSubmitterWatch(modules, { watchMs: options.poolTimeoutMs })
    this.throttler = new Throttler(modules, options.throttle, options.networkTimeoutMs)
  }

  get isRunning(): boolean {
    return this.run !== undefined
  }

  /** A transaction that we did not send has used up a nonce of ours. */
  noteForeign(tx: ForeignTx): void {
    if (this.secondSubmitter.note(tx, this.rollupConfig?.batchInboxAddress))
      this.run?.follower.stepBack('another program posts batches with this account')
  }

  /** Where it stands, without asking anyone. */
  get status(): BatcherStatus {
    const { run, follower, modules } = this
    const { publisher } = run?.follower.chain ?? {}
    const manager = run?.follower.chain?.manager ?? this.kept
    const open = manager?.channels.find((channel) => !channel.isClosed && channel.blocks.length > 0)
    return {
      running: run !== undefined,
      stopping: run !== undefined && (run.stopping !== undefined || this.ending.signal.aborted),
      from: modules.sender.from,
      waitsFor: this.secondSubmitter.reason ?? run?.follower.waitsFor,
      safe: follower?.lastStatus?.safeL2.number,
      unsafe: follower?.lastStatus?.unsafeL2.number,
      lastLoaded: manager?.lastLoaded ?? this.lastLoaded,
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

  /** Begins at the safe head, or cancels a stop that is not over. Throws BatcherStateError when there is neither to do. */
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
        'the stop was cancelled by admin_startBatcher before all data were saved to L1; the batcher goes on',
      ),
    )
    await stopping.outcome.catch(() => {})
    // The stop had failed before it could be cancelled.
    if (this.run === undefined) this.begin()
  }

  private begin(): void {
    this.modules.logger.info('Starting Batch Submitter')
    const follower = new ChainFollower(
      {
        ...this.modules,
        throttler: this.throttler,
        connect: (status, signal) => this.connect(run, status, signal),
        watch: {
          begin: () => this.secondSubmitter.begin(),
          isAlone: async (signal) =>
            this.rollupConfig === undefined ||
            (await this.secondSubmitter.isAlone(this.rollupConfig.batchInboxAddress, signal)),
        },
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
   * Saves all blocks up to the present unsafe head to L1, waits for the confirmations, and stops. A call while a stop is
   * under way joins it. When not all can be saved the batcher stops without: the error names the first block that is not
   * saved, and what is held is posted after the next start. Throws BatcherStateError, also when `start` cancels the stop.
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
    // Whoever asked for it may have left.
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
      await run.follower.chain?.publisher.drain(cancelled)
      cancelled.throwIfAborted()
      if (run.follower.chain?.manager.firstUnsaved !== undefined)
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
    const { publisher } = run.follower.chain ?? {}
    run.stopping = undefined
    run.stopLoading = new AbortController()
    run.stopPublishing = new AbortController()
    run.loading = run.follower.follow(run.stopLoading.signal)
    run.publishing = publisher?.run(run.stopPublishing.signal)
    publisher?.request()
    this.modules.logger.info('Batch Submitter goes on: its stop was cancelled')
  }

  private async finishUnsaved(run: Run, cause: unknown): Promise<BatcherStateError> {
    const { manager, publisher } = run.follower.chain ?? {}
    publisher?.cancelAll(cause)
    await publisher?.settled()
    const first = manager?.firstUnsaved?.number
    this.modules.logger.warn('Stopped before all data were saved to L1', { first_unsaved: first, err: cause })
    this.kept = manager
    this.finish(run)
    const blocks = first === undefined ? 'not all blocks are' : `L2 block ${first} and those after it are not`
    const message = `batcher stopped, but ${blocks} saved to L1 (${describeError(cause)}); they are posted after the next start`
    return new BatcherStateError('batcher-unsaved', message, { cause })
  }

  /**
   * Loads and sends nothing more, and gives up waiting for what was sent: the next start finds it. A stop that is under way
   * fails unless all is confirmed. Harmless when nothing runs.
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
      run.follower.chain?.publisher.request()
      await run.stopping.outcome.catch(() => {})
      return
    }
    this.modules.logger.info('Stopping Batch Submitter')
    await this.endLoading(run)
    await this.endPublishing(run)
    await run.follower.chain?.publisher.settled()
    const unsaved = run.follower.chain?.manager.firstUnsaved
    this.finish(run)
    if (unsaved === undefined) this.modules.logger.info('Batch Submitter stopped')
    else this.modules.logger.warn('Stopped before all data were saved to L1', { first_unsaved: unsaved.number })
  }

  /** Closes the open channel now and sends it. Throws BatcherStateError when it does not run. */
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
    this.lastLoaded = run.follower.chain?.manager.lastLoaded ?? this.lastLoaded
    // Frees the compressors of channels that never closed.
    if (this.kept === run.follower.chain?.manager) this.kept?.requeue()
    else run.follower.chain?.manager.clear(0)
    this.run = undefined
    this.modules.metrics.up(false)
  }

  private async connect(run: Run, status: BatcherSyncStatus, signal: AbortSignal): Promise<Chain> {
    const { clock, heads, logger, metrics, sender } = this.modules
    this.rollupConfig ??= await fetchRollupConfig(this.modules, this.options.networkTimeoutMs, signal)
    const rollupConfig = this.rollupConfig
    const da = createDaChoice({ ...this.modules, throttler: this.throttler }, this.options, rollupConfig)
    const manager = this.kept ?? new ChannelManager({ logger, metrics }, { da, rollupConfig })
    const isKept = this.kept !== undefined
    this.kept = undefined
    const publisher = new Publisher(
      { manager, sender, heads, da, clock, logger, metrics, costs: this.costs },
      {
        batchInbox: rollupConfig.batchInboxAddress,
        maxPendingTx: this.options.maxPendingTx,
        txsInFlight: da.config.txsInFlight,
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
