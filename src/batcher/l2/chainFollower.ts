import { sleep } from '../../lib/clock.ts'
import { DeviumError, describeError, severityOf, UsageError } from '../../lib/errors.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import type { ChannelManager } from '../channel/channelManager.ts'
import type { Reachability } from '../l1/reachability.ts'
import type { BatchSubmitterModules } from '../submitter/modules.ts'
import { type BatcherOptions, MAX_CHECK_RECENT_TXS_DEPTH } from '../submitter/options.ts'
import type { Publisher } from '../submitter/publisher.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import type { Throttler } from '../throttle/throttler.ts'
import { NodeWait } from './nodeWait.ts'
import { type BlockRange, computeSyncActions } from './syncActions.ts'
import { type BatcherSyncStatus, fetchSyncStatus } from './syncStatus.ts'

/** What a run works with once the rollup node has told about its chain. */
export interface Chain {
  manager: ChannelManager
  publisher: Publisher
}

export interface ChainFollowerModules
  extends Pick<BatchSubmitterModules, 'rollup' | 'l1' | 'l2' | 'sender' | 'clock' | 'logger' | 'metrics' | 'onFatal'> {
  throttler: Pick<Throttler, 'update'>
  /** Called with the node's first answer, and again after one that it could not use. */
  connect: (status: BatcherSyncStatus, signal: AbortSignal) => Promise<Chain>
  /** Tells whether nobody else posts with our account; asked again and again while nothing of ours is sent. */
  watch: { begin(): void; isAlone(signal: AbortSignal): Promise<boolean> }
}

/**
 * What unsafe blocks may take in memory; loading waits above it. Many channels full, and as much again as they take goes
 * to what the heap has not collected yet.
 */
const MAX_HELD_BYTES = 48 * 1024 * 1024
/** Looks in a row at which the rollup node says nothing, before a stop gives up. */
const SILENT_LOOKS = 2
const RANGE_WARNING = 'Error calculating L2 block range'

/**
 * Keeps what is held in step with the L2 chain, from the start of a run to its end: each look compares it with the node's
 * safe and unsafe heads, drops what is safe, loads what is new, or begins anew after a reorg.
 */
export class ChainFollower {
  private readonly modules: ChainFollowerModules
  private readonly options: BatcherOptions
  private readonly warnings: RepeatedWarnings
  private readonly addedLines: RoutineLines
  private connected: Chain | undefined
  /** Where the node stood when it was last believed. */
  private previous: BatcherSyncStatus | undefined
  /** What it said at the last look, when that was not believed. */
  private doubted: BatcherSyncStatus | undefined
  /** What has to be over before anything is loaded. */
  private wait: NodeWait | undefined
  /** Why all that is held and on its way is to be given up. */
  private stepBackReason: string | undefined
  /** A flush was asked for before there was anything to flush. */
  private flushPending = false
  private status: BatcherSyncStatus | undefined
  private node: Reachability = { lastAnswerMs: undefined, error: undefined }

  constructor(modules: ChainFollowerModules, options: BatcherOptions) {
    this.modules = modules
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
    this.addedLines = new RoutineLines(modules, 'Added L2 block to local state')
    this.wait = this.createWait()
  }

  /** Undefined until the rollup node has answered. */
  get chain(): Chain | undefined {
    return this.connected
  }

  /** The rollup node's last answer. */
  get lastStatus(): BatcherSyncStatus | undefined {
    return this.status
  }

  get rollupNode(): Reachability {
    return this.node
  }

  /** What is waited for before anything is loaded. */
  get waitsFor(): string | undefined {
    return this.wait?.reason
  }

  /** Looks at every poll interval until `signal` aborts. Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.modules
    while (!signal.aborted) {
      try {
        await this.look(signal)
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

  /** Loads the blocks that the L2 has now, as far as they are not safe. */
  async loadToHead(signal: AbortSignal): Promise<void> {
    const { l2, clock } = this.modules
    let target = Number.POSITIVE_INFINITY
    for (let silent = 0; silent < SILENT_LOOKS; ) {
      target = Math.min(target, await l2.headNumber(signal))
      const status = await this.look(signal)
      const reached = Math.max(status?.safeL2.number ?? -1, this.connected?.manager.newestBlock?.number ?? -1)
      if (this.wait === undefined && reached >= target) return
      silent = status === undefined ? silent + 1 : 0
      await sleep(clock, status === undefined ? 0 : this.options.pollIntervalMs, signal)
    }
    throw new DeviumError('rollup-node-silent', 'the rollup node does not say where the chain stands')
  }

  /** Closes the open channel now; when nothing is held yet, as soon as something is. */
  flush(): void {
    this.flushPending = true
    this.flushHeld()
  }

  /** Gives up all that is held and on its way, and begins anew when the node is past it and nobody else posts. */
  stepBack(reason: string): void {
    this.stepBackReason = reason
  }

  /** What was asked for before there were blocks is done with the first ones. */
  private flushHeld(): void {
    const { manager, publisher } = this.connected ?? {}
    if (!this.flushPending || manager?.newestBlock === undefined) return
    this.flushPending = false
    manager.flush()
    publisher?.request()
  }

  private createWait(): NodeWait {
    const { waitNodeSync, checkRecentTxsDepth, poolTimeoutMs } = this.options
    const depth = waitNodeSync ? checkRecentTxsDepth : checkRecentTxsDepth || MAX_CHECK_RECENT_TXS_DEPTH
    this.modules.watch.begin()
    return new NodeWait(this.modules, { depth, poolTimeoutMs })
  }

  /** Resolves with where the node stands; undefined when it does not say or is not believed. */
  private async look(signal: AbortSignal): Promise<BatcherSyncStatus | undefined> {
    const { logger } = this.modules
    const status = await this.syncStatus(signal)
    if (status === undefined || this.connected === undefined) return undefined
    const { manager, publisher } = this.connected
    const { stepBackReason } = this
    if (stepBackReason !== undefined) {
      this.stepBackReason = undefined
      logger.warn('Clearing state', { reason: stepBackReason, safe: status.safeL2.number })
      await this.startAfresh(this.connected, status, signal)
      return status
    }
    if (await this.mustWaitForNode(status, signal)) return status

    const actions = computeSyncActions(status, this.previous, this.doubted, manager.blocks, manager.channels)
    if (actions.kind === 'outOfSync') {
      this.doubted = status
      this.node = { ...this.node, error: `it is out of sync: ${actions.reason}` }
      this.warnings.warn(RANGE_WARNING, `the rollup node is out of sync: ${actions.reason}`)
      return undefined
    }
    this.previous = status
    this.doubted = undefined
    if (actions.kind === 'startAfresh') {
      logger.warn('Clearing state', { reason: actions.reason, safe: status.safeL2.number })
      await this.startAfresh(this.connected, status, signal)
      return status
    }
    manager.prune(status.safeL2.number)
    try {
      if (actions.load !== undefined) await this.loadRange(this.connected, actions.load, status, signal)
      this.flushHeld()
      this.flushPending &&= manager.newestBlock !== undefined
    } catch (error) {
      if (signal.aborted) throw error
      this.warnings.warn('Error loading blocks, retrying on next tick', error)
    }
    this.modules.throttler.update(manager.unsafeDaBytes)
    // Also without new blocks: the deadline of an open channel may have come.
    publisher.request()
    return status
  }

  /** undefined when the node cannot say where it stands; the chain is set up with the first answer. */
  private async syncStatus(signal: AbortSignal): Promise<BatcherSyncStatus | undefined> {
    try {
      const status = await fetchSyncStatus(this.modules, this.options.networkTimeoutMs, signal)
      this.status = status
      this.node = { lastAnswerMs: this.modules.clock.now(), error: undefined }
      this.connected ??= await this.modules.connect(status, signal)
      return status
    } catch (error) {
      if (signal.aborted || error instanceof UsageError || severityOf(error) === 'critical') throw error
      this.node = { ...this.node, error: describeError(error) }
      this.warnings.warn(RANGE_WARNING, error)
      return undefined
    }
  }

  private async mustWaitForNode(status: BatcherSyncStatus, signal: AbortSignal): Promise<boolean> {
    if (this.wait === undefined) return false
    try {
      const isAlone = await this.modules.watch.isAlone(signal)
      if ((await this.wait.isOver(status, signal)) && isAlone) this.wait = undefined
    } catch (error) {
      if (signal.aborted) throw error
      this.warnings.warn(RANGE_WARNING, error)
    }
    return this.wait !== undefined
  }

  private async loadRange(
    { manager, publisher }: Chain,
    range: BlockRange,
    status: BatcherSyncStatus,
    signal: AbortSignal,
  ): Promise<void> {
    const { l2, logger, metrics } = this.modules
    if (this.isFull(manager)) return
    for await (const blocks of l2.blocks(range.start, range.end, signal)) {
      for (const block of blocks) {
        metrics.l2Loaded(block)
        const isAfterSafe = block.number === status.safeL2.number + 1
        // The execution client could follow another chain than the rollup node.
        const isForeign = isAfterSafe && block.parentHash !== status.safeL2.hash
        if (isForeign || !manager.addBlock(block)) {
          logger.warn('Found L2 reorg', { block_number: block.number, block: block.hash })
          logger.info('Clearing state', { reason: 'unsafe chain reorg' })
          await this.startAfresh({ manager, publisher }, status, signal)
          logger.info('State cleared')
          return
        }
        const { hash, number, timestamp, transactions } = block
        const fields = { block: hash, number, tx_count: transactions.length, time: timestamp }
        this.addedLines.write(fields, { isNews: transactions.length > 0 })
      }
      if (manager.newestBlock?.number === range.end) return
      publisher.request({ moreToCome: true })
      if (this.isFull(manager)) return
    }
  }

  /** No more is loaded until some blocks are safe; nothing waits for more then. */
  private isFull(manager: ChannelManager): boolean {
    if (manager.memoryBytes <= MAX_HELD_BYTES) return false
    this.modules.logger.debug('Enough blocks are held, loading goes on when some are safe', {
      bytes: manager.memoryBytes,
    })
    manager.flush()
    return true
  }

  /**
   * Forgets all that is held. Its transactions that are not yet in a block are replaced by empty ones: abandoned blocks
   * would come back otherwise. What is on L1 may still be derived, so the node has to be past it before loading begins
   * again.
   */
  private async startAfresh(
    { manager, publisher }: Chain,
    status: BatcherSyncStatus,
    signal: AbortSignal,
  ): Promise<void> {
    manager.clear(status.safeL2.l1OriginNumber)
    this.previous = undefined
    this.wait = this.createWait()
    await publisher.abandon(signal)
  }
}
