import { type Clock, sleep, unixSeconds } from '../lib/clock.ts'
import { DeviumError, severityOf, UsageError } from '../lib/errors.ts'
import type { RpcClient } from '../lib/jsonRpc/client.ts'
import type { Logger } from '../lib/logger.ts'
import { checkRollupConfig, parseRollupConfig } from '../rollup/protocol/index.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import { createChannelConfig } from './channelConfig.ts'
import { ChannelManager } from './channelManager.ts'
import { CheapestChoice, type DaChoice, fixedChoice } from './daChoice.ts'
import type { L1Endpoint } from './l1Endpoint.ts'
import type { L2Source } from './l2Source.ts'
import type { BatcherMetrics } from './metrics.ts'
import type { BatcherOptions } from './options.ts'
import { type BatchSender, Publisher } from './publisher.ts'
import { findRecentTxBlock } from './recentTx.ts'
import { RepeatedWarnings } from './repeatedWarnings.ts'
import { type BlockRange, computeSyncActions } from './syncActions.ts'
import { type BatcherSyncStatus, fetchSyncStatus } from './syncStatus.ts'
import type { TxManager } from './txmgr/txManager.ts'

export interface BatchSubmitterModules {
  rollup: Pick<RpcClient, 'request'>
  l1: L1Endpoint
  l2: L2Source
  sender: BatchSender & Pick<TxManager, 'from' | 'close' | 'tunables'>
  clock: Clock
  logger: Logger
  metrics: BatcherMetrics
  /** Something that trying again cannot mend: the program is to stop. */
  onFatal: (error: unknown) => void
}

/** Starting what runs or stopping what does not. */
export class BatcherStateError extends DeviumError<'batcher-running' | 'batcher-not-running'> {
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
  previousCurrentL1: number | undefined
  /** The node must have reached this L1 block before anything is loaded. */
  awaitedL1: 'unset' | number | undefined
  /** Where the node stood when it was looked at last, while it is waited for. */
  lookedAt: BatcherSyncStatus | undefined
  stopping: boolean
  finished: PromiseWithResolvers<void>
}

/** L2 blocks asked for at the same time. */
const LOAD_CONCURRENCY = 8
/** Uncompressed bytes of unsafe blocks that are held; loading waits above it. */
const MAX_HELD_BYTES = 256 * 1024 * 1024
const RANGE_WARNING = 'Error calculating L2 block range'

/**
 * Follows the L2 chain of one sequencer and posts its unsafe blocks to L1. Every poll compares what is held with the
 * node's safe and unsafe heads; publishing runs beside it and is woken by new blocks and by confirmations.
 */
export class BatchSubmitter {
  private readonly modules: BatchSubmitterModules
  private readonly options: BatcherOptions
  private rollupConfig: RollupConfig | undefined
  private run: Run | undefined
  private readonly warnings: RepeatedWarnings

  constructor(modules: BatchSubmitterModules, options: BatcherOptions) {
    this.modules = modules
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
  }

  get isRunning(): boolean {
    return this.run !== undefined
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
      previousCurrentL1: undefined,
      awaitedL1: this.options.waitNodeSync ? 'unset' : undefined,
      lookedAt: undefined,
      stopping: false,
      finished: Promise.withResolvers(),
    }
    this.run = run
    run.loading = this.load(run)
    this.modules.metrics.up(true)
    this.modules.logger.info('Batch Submitter started')
  }

  /**
   * Loads nothing more, saves all blocks held to L1, waits for the confirmations and resolves. When `signal` aborts the
   * rest is given up. Throws BatcherStateError when it does not run.
   */
  async stop(signal: AbortSignal): Promise<void> {
    const run = this.requireRun()
    run.stopping = true
    this.modules.logger.info('Stopping Batch Submitter')
    await this.endLoops(run)
    try {
      await run.chain?.publisher.drain(signal)
    } catch (error) {
      this.modules.logger.warn('Stopped before all data were saved to L1', { err: error })
      await run.chain?.publisher.settled()
    }
    await this.finish(run)
  }

  /** Loads and sends nothing more, waits for what is on its way. Harmless when nothing runs. */
  async shutdown(): Promise<void> {
    this.modules.sender.close()
    const run = this.run
    if (run === undefined) return
    if (run.stopping) return run.finished.promise
    run.stopping = true
    this.modules.logger.info('Stopping Batch Submitter')
    await this.endLoops(run)
    await run.chain?.publisher.settled()
    await this.finish(run)
  }

  /** Closes the open channel now and sends it. Throws BatcherStateError when it does not run. */
  flush(): void {
    const { chain } = this.requireRun()
    chain?.manager.flush()
    chain?.publisher.request()
  }

  private requireRun(): Run {
    if (this.run === undefined || this.run.stopping)
      throw new BatcherStateError('batcher-not-running', 'batcher is not running')
    return this.run
  }

  private async endLoops(run: Run): Promise<void> {
    run.stopLoading.abort(new DeviumError('batcher-stopping', 'the batcher is being stopped'))
    await run.loading
    run.stopPublishing.abort()
    await run.publishing
  }

  private async finish(run: Run): Promise<void> {
    // Frees the compressors of channels that never closed.
    run.chain?.manager.clear(0)
    this.run = undefined
    this.modules.metrics.up(false)
    this.modules.logger.info('Batch Submitter stopped')
    run.finished.resolve()
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

  private async tick(run: Run, signal: AbortSignal): Promise<void> {
    const { logger } = this.modules
    const status = await this.syncStatus(run, signal)
    if (status === undefined || run.chain === undefined) return
    const { manager, publisher } = run.chain
    if (await this.mustWaitForNode(run, status, signal)) return

    const actions = computeSyncActions(status, run.previousCurrentL1, manager.blocks, manager.channels)
    if (actions.kind === 'outOfSync') {
      this.warnings.warn(RANGE_WARNING, `the rollup node is out of sync: ${actions.reason}`)
      return
    }
    run.previousCurrentL1 = status.currentL1.number
    if (actions.kind === 'startAfresh') {
      logger.warn('Clearing state', { reason: actions.reason, safe: status.safeL2.number })
      manager.clear(status.safeL2.l1OriginNumber)
    } else {
      manager.prune(status.safeL2.number)
    }
    try {
      if (actions.load !== undefined) await this.loadRange(run, run.chain, actions.load, status, signal)
    } catch (error) {
      if (signal.aborted) throw error
      this.warnings.warn('Error loading blocks, retrying on next tick', error)
    }
    // Also without new blocks: the deadline of an open channel may have come.
    publisher.request()
  }

  /** undefined when the node cannot say where it stands; the chain is set up with the first answer. */
  private async syncStatus(run: Run, signal: AbortSignal): Promise<BatcherSyncStatus | undefined> {
    try {
      const status = await fetchSyncStatus(this.modules, this.options.networkTimeoutMs, signal)
      run.chain ??= await this.connect(run, status, signal)
      return status
    } catch (error) {
      if (signal.aborted || error instanceof UsageError || severityOf(error) === 'critical') throw error
      this.warnings.warn(RANGE_WARNING, error)
      return undefined
    }
  }

  private async connect(run: Run, status: BatcherSyncStatus, signal: AbortSignal): Promise<Chain> {
    const { clock, l1, logger, metrics, sender } = this.modules
    this.rollupConfig ??= await this.fetchRollupConfig(signal)
    const rollupConfig = this.rollupConfig
    const da = this.createDaChoice(rollupConfig)
    const manager = new ChannelManager({ logger, metrics }, { da, rollupConfig })
    const publisher = new Publisher(
      { manager, sender, l1, da, clock, logger, metrics },
      {
        batchInbox: rollupConfig.batchInboxAddress,
        maxPendingTx: this.options.maxPendingTx,
        txsInFlight: da.config.txsInFlight,
        retryMs: this.options.pollIntervalMs,
      },
    )
    manager.clear(status.safeL2.l1OriginNumber)
    logger.info('Starting batch-submitter work at safe-head', {
      safe: status.safeL2.number,
      unsafe: status.unsafeL2.number,
    })
    run.publishing = publisher.run(run.stopPublishing.signal)
    return { manager, publisher }
  }

  /** Throws UsageError where options and chain contradict. */
  private createDaChoice(rollupConfig: RollupConfig): DaChoice {
    const { clock, l1, logger, sender } = this.modules
    const now = unixSeconds(clock)
    const { dataAvailability } = this.options
    if (dataAvailability !== 'auto') return fixedChoice(createChannelConfig(this.options, rollupConfig, now))
    const configs = {
      blobs: createChannelConfig(this.options, rollupConfig, now, { useBlobs: true }),
      calldata: createChannelConfig(this.options, rollupConfig, now, { useBlobs: false }),
    }
    return new CheapestChoice({ l1, clock, logger }, configs, {
      minTipWei: () => sender.tunables.minTipCapWei,
      maxPriceAgeMs: this.options.pollIntervalMs,
    })
  }

  /** Throws UsageError when L1 and L2 are not those of the rollup node. */
  private async fetchRollupConfig(signal: AbortSignal): Promise<RollupConfig> {
    const { rollup, l1, l2, sender, logger } = this.modules
    const timeoutMs = this.options.networkTimeoutMs
    const config = parseRollupConfig(await rollup.request('optimism_rollupConfig', [], { timeoutMs, signal }))
    checkRollupConfig(config)
    const [l1ChainId, l2ChainId] = await Promise.all([l1.chainId(signal), l2.chainId(signal)])
    if (l1ChainId !== config.l1ChainId) {
      throw new UsageError(
        `--l1-eth-rpc serves chain ${l1ChainId}, but the rollup node's L1 is chain ${config.l1ChainId}`,
      )
    }
    if (l2ChainId !== config.l2ChainId) {
      throw new UsageError(
        `--l2-eth-rpc serves chain ${l2ChainId}, but the rollup node's L2 is chain ${config.l2ChainId}`,
      )
    }
    const expected = config.genesis.systemConfig.batcherAddress
    if (expected !== sender.from) {
      // The L1 may have changed it since genesis, so this is no error.
      logger.info('The sender is not the batcher of the genesis system config', { from: sender.from, expected })
    }
    return config
  }

  private async mustWaitForNode(run: Run, status: BatcherSyncStatus, signal: AbortSignal): Promise<boolean> {
    if (run.awaitedL1 === undefined) return false
    if (run.awaitedL1 === 'unset') {
      const { l1, sender } = this.modules
      try {
        run.awaitedL1 = await findRecentTxBlock(l1, sender.from, this.options.checkRecentTxsDepth, signal)
      } catch (error) {
        if (signal.aborted) throw error
        this.warnings.warn(RANGE_WARNING, error)
        return true
      }
    }
    const { currentL1, safeL2 } = status
    // At the block itself the node may still be deriving from it; an L1 that stands still never brings a later one.
    const isSettled = currentL1.hash === run.lookedAt?.currentL1.hash && safeL2.hash === run.lookedAt.safeL2.hash
    run.lookedAt = status
    if (currentL1.number < run.awaitedL1 || (currentL1.number === run.awaitedL1 && !isSettled)) {
      this.modules.logger.debug('Waiting for the rollup node', {
        current_l1: currentL1.number,
        target: run.awaitedL1,
      })
      return true
    }
    run.awaitedL1 = undefined
    run.lookedAt = undefined
    return false
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
          this.restartAfterReorg(run, manager, status)
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

  /** What was sent of the old chain may still be derived: the node has to be past it before loading begins again. */
  private restartAfterReorg(run: Run, manager: ChannelManager, status: BatcherSyncStatus): void {
    this.modules.logger.info('Clearing state', { reason: 'unsafe chain reorg' })
    manager.clear(status.safeL2.l1OriginNumber)
    run.previousCurrentL1 = undefined
    run.awaitedL1 = 'unset'
    this.modules.logger.info('State cleared')
  }
}
