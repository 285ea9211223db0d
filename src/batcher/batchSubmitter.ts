import { type Clock, sleep } from '../lib/clock.ts'
import { DeviumError, describeError, severityOf, UsageError } from '../lib/errors.ts'
import type { RpcClient } from '../lib/jsonRpc/client.ts'
import type { Logger } from '../lib/logger.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import { createDaChoice, fetchRollupConfig } from './chainSetup.ts'
import { ChannelManager } from './channelManager.ts'
import { CHANNEL_FULL_REASONS } from './channelOut.ts'
import type { L1Endpoint } from './l1Endpoint.ts'
import type { L2Source } from './l2Source.ts'
import type { BatcherMetrics } from './metrics.ts'
import { NodeWait } from './nodeWait.ts'
import { type BatcherOptions, MAX_CHECK_RECENT_TXS_DEPTH } from './options.ts'
import { type BatchSender, Publisher } from './publisher.ts'
import { RepeatedWarnings } from './repeatedWarnings.ts'
import { SecondSubmitterWatch } from './secondSubmitter.ts'
import type { BatcherStatus, Reachability } from './status.ts'
import { type BlockRange, computeSyncActions } from './syncActions.ts'
import { type BatcherSyncStatus, fetchSyncStatus } from './syncStatus.ts'
import { Throttler, type ThrottlerModules } from './throttle/throttler.ts'
import type { ForeignTx } from './txmgr/foreignTx.ts'
import type { TxManager } from './txmgr/txManager.ts'

export interface BatchSubmitterModules {
  rollup: Pick<RpcClient, 'request'>
  l1: L1Endpoint
  l2: L2Source
  /** L2 execution clients that are throttled when data pile up. */
  builders: ThrottlerModules['builders']
  sender: BatchSender & Pick<TxManager, 'from' | 'close' | 'tunables' | 'sending'>
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

/** What one run, from start to stop, works with once the rollup node has told about its chain. */
interface Chain {
  manager: ChannelManager
  publisher: Publisher
}

interface Run {
  stopLoading: AbortController
  stopPublishing: AbortController
  loading: Promise<void>
  publishing: Promise<void> | undefined
  chain: Chain | undefined
  /** Where the node stood when it was last believed. */
  previous: BatcherSyncStatus | undefined
  /** What it said at the last look, when that was not believed. */
  doubted: BatcherSyncStatus | undefined
  /** What has to be over before anything is loaded. */
  wait: NodeWait | undefined
  /** A flush was asked for before there was anything to flush. */
  flushPending: boolean
  stopping: boolean
  finished: PromiseWithResolvers<void>
}

/** L2 blocks asked for at the same time. */
const LOAD_CONCURRENCY = 8
/** Uncompressed bytes of unsafe blocks that are held; loading waits above it. */
const MAX_HELD_BYTES = 256 * 1024 * 1024
/** Looks in a row at which the rollup node says nothing, before a stop gives up. */
const SILENT_LOOKS = 2
const RANGE_WARNING = 'Error calculating L2 block range'

/**
 * Follows the L2 chain of one sequencer and posts its unsafe blocks to L1. Every poll compares what is held with the
 * node's safe and unsafe heads; publishing runs beside it and is woken by new blocks and by confirmations.
 */
export class BatchSubmitter {
  private readonly modules: BatchSubmitterModules
  private readonly options: BatcherOptions
  private rollupConfig: RollupConfig | undefined
  readonly throttler: Throttler
  private readonly secondSubmitter: SecondSubmitterWatch
  private lastStatus: BatcherSyncStatus | undefined
  private rollupNode: Reachability = { lastAnswerMs: undefined, error: undefined }
  private run: Run | undefined
  /** What a run that was stopped too early still held. */
  private kept: ChannelManager | undefined
  private readonly warnings: RepeatedWarnings

  constructor(modules: BatchSubmitterModules, options: BatcherOptions) {
    this.modules = modules
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
    this.secondSubmitter = new SecondSubmitterWatch(modules)
    this.throttler = new Throttler(modules, options.throttle, options.networkTimeoutMs)
  }

  get isRunning(): boolean {
    return this.run !== undefined
  }

  /** A transaction that we did not send has used up a nonce of ours. */
  noteForeign(tx: ForeignTx): void {
    this.secondSubmitter.note(tx, this.rollupConfig?.batchInboxAddress)
  }

  /** Where it stands, without asking anyone. */
  get status(): BatcherStatus {
    const { run } = this
    const { manager, publisher } = run?.chain ?? {}
    const open = manager?.channels.find((channel) => !channel.isClosed && channel.blocks.length > 0)
    return {
      running: run !== undefined,
      stopping: run?.stopping ?? false,
      from: this.modules.sender.from,
      waitsFor: run?.wait?.reason,
      safe: this.lastStatus?.safeL2.number,
      unsafe: this.lastStatus?.unsafeL2.number,
      lastLoaded: manager?.lastLoaded,
      pendingBlocks: manager?.pendingBlockCount ?? 0,
      heldBytes: manager?.heldSizeBytes ?? 0,
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
      ...publisher?.status,
      rollupNode: this.rollupNode,
      inFlight: this.modules.sender.sending,
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
    const run: Run = {
      stopLoading: new AbortController(),
      stopPublishing: new AbortController(),
      loading: Promise.resolve(),
      publishing: undefined,
      chain: undefined,
      previous: undefined,
      doubted: undefined,
      wait: this.createWait(),
      flushPending: false,
      stopping: false,
      finished: Promise.withResolvers(),
    }
    this.run = run
    run.loading = this.load(run)
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
      await this.loadToHead(run, signal)
      await this.endPublishing(run)
      await run.chain?.publisher.drain(signal)
      const unsaved = run.chain?.manager.firstUnsaved
      if (unsaved !== undefined) throw new DeviumError('txmgr-closed', 'the program is ending')
    } catch (cause) {
      await this.endPublishing(run)
      run.chain?.publisher.cancelAll(cause)
      await run.chain?.publisher.settled()
      const first = run.chain?.manager.firstUnsaved?.number
      this.modules.logger.warn('Stopped before all data were saved to L1', { first_unsaved: first, err: cause })
      this.kept = run.chain?.manager
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
    await run.chain?.publisher.settled()
    const unsaved = run.chain?.manager.firstUnsaved
    this.finish(run)
    this.modules.logger.info('Batch Submitter stopped', unsaved === undefined ? {} : { first_unsaved: unsaved.number })
  }

  /** Closes the open channel now and sends it. Throws BatcherStateError when it does not run. */
  flush(): void {
    const run = this.requireRun()
    run.flushPending = true
    this.flushHeld(run)
  }

  /** What was asked for before there were blocks is done with the first ones. */
  private flushHeld(run: Run): void {
    const { manager, publisher } = run.chain ?? {}
    if (!run.flushPending || manager?.newestBlock === undefined) return
    run.flushPending = false
    manager.flush()
    publisher?.request()
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
    if (this.kept === run.chain?.manager) this.kept?.requeue()
    else run.chain?.manager.clear(0)
    this.run = undefined
    this.modules.metrics.up(false)
    run.finished.resolve()
  }

  private createWait(): NodeWait {
    const { waitNodeSync, checkRecentTxsDepth, poolTimeoutMs } = this.options
    const depth = waitNodeSync ? checkRecentTxsDepth : checkRecentTxsDepth || MAX_CHECK_RECENT_TXS_DEPTH
    return new NodeWait(this.modules, { depth, poolTimeoutMs })
  }

  /** Loads the blocks that the L2 has now, as far as they are not safe. */
  private async loadToHead(run: Run, signal: AbortSignal): Promise<void> {
    const { l2, clock } = this.modules
    let target = Number.POSITIVE_INFINITY
    for (let silent = 0; silent < SILENT_LOOKS; ) {
      target = Math.min(target, await l2.headNumber(signal))
      const status = await this.tick(run, signal)
      const reached = Math.max(status?.safeL2.number ?? -1, run.chain?.manager.newestBlock?.number ?? -1)
      if (run.wait === undefined && reached >= target) return
      silent = status === undefined ? silent + 1 : 0
      await sleep(clock, status === undefined ? 0 : this.options.pollIntervalMs, signal)
    }
    throw new DeviumError('rollup-node-silent', 'the rollup node does not say where the chain stands')
  }

  private async load(run: Run): Promise<void> {
    const { signal } = run.stopLoading
    const { clock, logger } = this.modules
    while (!signal.aborted) {
      try {
        await this.tick(run, signal)
        await sleep(clock, this.options.pollIntervalMs, signal)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof UsageError || severityOf(error) === 'critical') {
          this.modules.onFatal(error)
          return
        }
        logger.error('Unexpected error, retrying on next tick', { err: error })
        await sleep(clock, this.options.pollIntervalMs, signal).catch(() => {})
      }
    }
  }

  /** Resolves with where the node stands; undefined when it does not say or is not believed. */
  private async tick(run: Run, signal: AbortSignal): Promise<BatcherSyncStatus | undefined> {
    const { logger } = this.modules
    const status = await this.syncStatus(run, signal)
    if (status === undefined || run.chain === undefined) return undefined
    const { manager, publisher } = run.chain
    if (await this.mustWaitForNode(run, status, signal)) return status

    const actions = computeSyncActions(status, run.previous, run.doubted, manager.blocks, manager.channels)
    if (actions.kind === 'outOfSync') {
      run.doubted = status
      this.rollupNode = { ...this.rollupNode, error: `it is out of sync: ${actions.reason}` }
      this.warnings.warn(RANGE_WARNING, `the rollup node is out of sync: ${actions.reason}`)
      return undefined
    }
    run.previous = status
    run.doubted = undefined
    if (actions.kind === 'startAfresh') {
      logger.warn('Clearing state', { reason: actions.reason, safe: status.safeL2.number })
      await this.startAfresh(run, run.chain, status, signal)
      return status
    }
    manager.prune(status.safeL2.number)
    try {
      if (actions.load !== undefined) await this.loadRange(run, run.chain, actions.load, status, signal)
      this.flushHeld(run)
      run.flushPending &&= manager.newestBlock !== undefined
    } catch (error) {
      if (signal.aborted) throw error
      this.warnings.warn('Error loading blocks, retrying on next tick', error)
    }
    this.throttler.update(manager.unsafeDaBytes)
    // Also without new blocks: the deadline of an open channel may have come.
    publisher.request()
    return status
  }

  /** undefined when the node cannot say where it stands; the chain is set up with the first answer. */
  private async syncStatus(run: Run, signal: AbortSignal): Promise<BatcherSyncStatus | undefined> {
    try {
      const status = await fetchSyncStatus(this.modules, this.options.networkTimeoutMs, signal)
      this.lastStatus = status
      this.rollupNode = { lastAnswerMs: this.modules.clock.now(), error: undefined }
      run.chain ??= await this.connect(run, status, signal)
      return status
    } catch (error) {
      if (signal.aborted || error instanceof UsageError || severityOf(error) === 'critical') throw error
      this.rollupNode = { ...this.rollupNode, error: describeError(error) }
      this.warnings.warn(RANGE_WARNING, error)
      return undefined
    }
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

  private async mustWaitForNode(run: Run, status: BatcherSyncStatus, signal: AbortSignal): Promise<boolean> {
    if (run.wait === undefined) return false
    try {
      if (await run.wait.isOver(status, signal)) run.wait = undefined
    } catch (error) {
      if (signal.aborted) throw error
      this.warnings.warn(RANGE_WARNING, error)
    }
    return run.wait !== undefined
  }

  private async loadRange(
    run: Run,
    { manager, publisher }: Chain,
    range: BlockRange,
    status: BatcherSyncStatus,
    signal: AbortSignal,
  ): Promise<void> {
    const { l2, logger, metrics } = this.modules
    for (let start = range.start; start <= range.end; start += LOAD_CONCURRENCY) {
      if (manager.heldSizeBytes > MAX_HELD_BYTES) {
        logger.debug('Enough blocks are held, loading goes on when some are safe', { bytes: manager.heldSizeBytes })
        return
      }
      const count = Math.min(LOAD_CONCURRENCY, range.end - start + 1)
      const blocks = await Promise.all(
        Array.from({ length: count }, (_, index) => l2.blockByNumber(start + index, signal)),
      )
      for (const block of blocks) {
        metrics.l2Loaded(block)
        const isAfterSafe = block.number === status.safeL2.number + 1
        // The execution client could follow another chain than the rollup node.
        const isForeign = isAfterSafe && block.parentHash !== status.safeL2.hash
        if (isForeign || !manager.addBlock(block)) {
          logger.warn('Found L2 reorg', { block_number: block.number, block: block.hash })
          logger.info('Clearing state', { reason: 'unsafe chain reorg' })
          await this.startAfresh(run, { manager, publisher }, status, signal)
          logger.info('State cleared')
          return
        }
        logger.info('Added L2 block to local state', {
          block: block.hash,
          number: block.number,
          tx_count: block.transactions.length,
          time: block.timestamp,
        })
      }
      if (range.end - start >= LOAD_CONCURRENCY) publisher.request({ moreToCome: true })
    }
  }

  /**
   * Forgets all that is held. Its transactions that are not yet in a block are replaced by empty ones: abandoned blocks
   * would come back otherwise. What is on L1 may still be derived, so the node has to be past it before loading begins
   * again.
   */
  private async startAfresh(
    run: Run,
    { manager, publisher }: Chain,
    status: BatcherSyncStatus,
    signal: AbortSignal,
  ): Promise<void> {
    manager.clear(status.safeL2.l1OriginNumber)
    run.previous = undefined
    run.wait = this.createWait()
    await publisher.abandon(signal)
  }
}
