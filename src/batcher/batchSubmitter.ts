import type { Clock } from '../lib/clock.ts'
import { DeviumError, describeError } from '../lib/errors.ts'
import type { RpcClient } from '../lib/jsonRpc/client.ts'
import type { Logger } from '../lib/logger.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import { type Chain, ChainFollower } from './chainFollower.ts'
import { createDaChoice, fetchRollupConfig } from './chainSetup.ts'
import { ChannelManager } from './channelManager.ts'
import { CHANNEL_FULL_REASONS } from './channelOut.ts'
import type { L1Endpoint } from './l1Endpoint.ts'
import type { L2Source } from './l2Source.ts'
import type { BatcherMetrics } from './metrics.ts'
import type { BatcherOptions } from './options.ts'
import { type BatchSender, Publisher } from './publisher.ts'
import { SecondSubmitterWatch } from './secondSubmitter.ts'
import type { BatcherStatus } from './status.ts'
import type { BatcherSyncStatus } from './syncStatus.ts'
import { Throttler, type ThrottlerModules } from './throttle/throttler.ts'
import type { ForeignTx } from './txmgr/foreignTx.ts'
import type { TxManager } from './txmgr/txManager.ts'

export interface BatchSubmitterModules {
  rollup: Pick<RpcClient, 'request'>
  l1: L1Endpoint
  l2: L2Source
  /** L2 execution clients that are throttled when data pile up. */
  builders: ThrottlerModules['builders']
  sender: BatchSender & Pick<TxManager, 'from' | 'close' | 'tunables' | 'sending' | 'cancelling' | 'problem'>
  clock: Clock
  logger: Logger
  metrics: BatcherMetrics
  /** Something that trying again cannot mend: the program is to stop. */
  onFatal: (error: unknown) => void
}

/** Starting what runs, stopping what does not, or stopping before all is saved. */
export class BatcherStateError extends DeviumError<'batcher-running' | 'batcher-not-running' | 'batcher-unsaved'> {
  override readonly name = 'BatcherStateError'
}

/** From start to stop. */
interface Run {
  follower: ChainFollower
  stopLoading: AbortController
  stopPublishing: AbortController
  loading: Promise<void>
  publishing: Promise<void> | undefined
  stopping: boolean
  finished: PromiseWithResolvers<void>
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
    const { run, follower } = this
    const { manager, publisher } = run?.follower.chain ?? {}
    const open = manager?.channels.find((channel) => !channel.isClosed && channel.blocks.length > 0)
    return {
      running: run !== undefined,
      stopping: run?.stopping ?? false,
      from: this.modules.sender.from,
      waitsFor: this.secondSubmitter.reason ?? run?.follower.waitsFor,
      safe: follower?.lastStatus?.safeL2.number,
      unsafe: follower?.lastStatus?.unsafeL2.number,
      lastLoaded: manager?.lastLoaded,
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
      l1Head: undefined,
      l1: { lastAnswerMs: undefined, error: undefined },
      lastHour: { transactions: 0, bytes: 0, costGwei: 0 },
      sendError: undefined,
      ...publisher?.status,
      rollupNode: follower?.rollupNode ?? { lastAnswerMs: undefined, error: undefined },
      inFlight: this.modules.sender.sending,
      cancelling: this.modules.sender.cancelling,
      craftProblem: this.modules.sender.problem,
      throttling: this.throttler.isThrottling,
    }
  }

  /** Begins at the safe head. Throws BatcherStateError when it runs already. */
  start(): void {
    if (this.run !== undefined) {
      const suffix = this.run.stopping ? ' (it is being stopped)' : ''
      throw new BatcherStateError('batcher-running', `batcher is already running${suffix}`)
    }
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
      stopping: false,
      finished: Promise.withResolvers(),
    }
    this.run = run
    this.follower = follower
    run.loading = follower.follow(run.stopLoading.signal)
    this.modules.metrics.up(true)
    this.modules.logger.info('Batch Submitter started')
  }

  /**
   * Saves all blocks up to the present unsafe head to L1, waits for the confirmations, and stops. When that cannot be
   * done or `signal` aborts it stops without: the error names the first block that is not saved, and what is held is
   * posted after the next start. Throws BatcherStateError.
   */
  async stop(signal: AbortSignal): Promise<void> {
    const run = this.requireRun()
    run.stopping = true
    this.modules.logger.info('Stopping Batch Submitter')
    await this.endLoading(run)
    try {
      await run.follower.loadToHead(signal)
      await this.endPublishing(run)
      await run.follower.chain?.publisher.drain(signal)
      const unsaved = run.follower.chain?.manager.firstUnsaved
      if (unsaved !== undefined) throw new DeviumError('txmgr-closed', 'the program is ending')
    } catch (cause) {
      await this.endPublishing(run)
      run.follower.chain?.publisher.cancelAll(cause)
      await run.follower.chain?.publisher.settled()
      const first = run.follower.chain?.manager.firstUnsaved?.number
      this.modules.logger.warn('Stopped before all data were saved to L1', { first_unsaved: first, err: cause })
      this.kept = run.follower.chain?.manager
      this.finish(run)
      const blocks = first === undefined ? 'not all blocks are' : `L2 block ${first} and those after it are not`
      throw new BatcherStateError(
        'batcher-unsaved',
        `batcher stopped, but ${blocks} saved to L1 (${describeError(cause)}); they are posted after the next start`,
        { cause },
      )
    }
    this.finish(run)
    this.modules.logger.info('Batch Submitter stopped')
  }

  /** Loads and sends nothing more, waits for what is on its way. Harmless when nothing runs. */
  async shutdown(): Promise<void> {
    this.modules.sender.close()
    this.throttler.stop()
    const run = this.run
    if (run === undefined) return
    if (run.stopping) return run.finished.promise
    run.stopping = true
    this.modules.logger.info('Stopping Batch Submitter')
    await this.endLoading(run)
    await this.endPublishing(run)
    await run.follower.chain?.publisher.settled()
    const unsaved = run.follower.chain?.manager.firstUnsaved
    this.finish(run)
    this.modules.logger.info('Batch Submitter stopped', unsaved === undefined ? {} : { first_unsaved: unsaved.number })
  }

  /** Closes the open channel now and sends it. Throws BatcherStateError when it does not run. */
  flush(): void {
    this.requireRun().follower.flush()
  }

  private requireRun(): Run {
    if (this.run === undefined || this.run.stopping)
      throw new BatcherStateError('batcher-not-running', 'batcher is not running')
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
    // Frees the compressors of channels that never closed.
    if (this.kept === run.follower.chain?.manager) this.kept?.requeue()
    else run.follower.chain?.manager.clear(0)
    this.run = undefined
    this.modules.metrics.up(false)
    run.finished.resolve()
  }

  private async connect(run: Run, status: BatcherSyncStatus, signal: AbortSignal): Promise<Chain> {
    const { clock, l1, logger, metrics, sender } = this.modules
    this.rollupConfig ??= await fetchRollupConfig(this.modules, this.options.networkTimeoutMs, signal)
    const rollupConfig = this.rollupConfig
    const da = createDaChoice({ ...this.modules, throttler: this.throttler }, this.options, rollupConfig)
    const manager = this.kept ?? new ChannelManager({ logger, metrics }, { da, rollupConfig })
    const isKept = this.kept !== undefined
    this.kept = undefined
    const publisher = new Publisher(
      { manager, sender, l1, da, clock, logger, metrics },
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
