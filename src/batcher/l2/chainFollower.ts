import { sleep } from '../../lib/clock.ts'
import { DeviumError, describeError, severityOf, UsageError } from '../../lib/errors.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import type { ChannelManager } from '../channel/channelManager.ts'
import type { Reachability } from '../l1/l1Heads.ts'
import type { BatchSubmitterModules } from '../submitter/modules.ts'
import { type BatcherOptions, MAX_CHECK_RECENT_TXS_DEPTH } from '../submitter/options.ts'
import type { Publisher } from '../submitter/publisher.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import type { Throttler } from '../throttle/throttler.ts'
import { NodeWait } from './nodeWait.ts'
import { type BlockRange, computeSyncActions } from './syncActions.ts'
import { type BatcherSyncStatus, fetchSyncStatus } from './syncStatus.ts'

/** The parts of a run that need the chain's rollup config. Created after the rollup node's first answer. */
export interface ActiveSession {
  manager: ChannelManager
  publisher: Publisher
}

export interface ChainFollowerModules
  extends Pick<BatchSubmitterModules, 'rollup' | 'l1' | 'l2' | 'sender' | 'clock' | 'logger' | 'metrics' | 'onFatal'> {
  throttler: Pick<Throttler, 'update'>
  /** Called with the node's first answer. Called again after each failure, until it resolves. */
  connect: (status: BatcherSyncStatus, signal: AbortSignal) => Promise<ActiveSession>
}

/**
 * Limit of the memory of unsafe blocks; loading pauses above it. Channels and uncollected garbage may take as much
 * again each.
 */
const MAX_HELD_BYTES = 48 * 1024 * 1024
/** Failed polls in a row before a stop gives up. */
const MAX_FAILED_POLLS = 5
const RANGE_WARNING = 'Error calculating L2 block range'
const LOAD_WARNING = 'Error loading blocks, retrying on next tick'

const isFatal = (error: unknown) => error instanceof UsageError || severityOf(error) === 'critical'

/**
 * Keeps the held blocks in step with the L2 chain, from the start of a run to its end. Each poll compares them with the
 * node's safe and unsafe heads. Then it drops safe blocks and loads new ones, or starts afresh after a reorg.
 */
export class ChainFollower {
  private readonly modules: ChainFollowerModules
  private readonly options: BatcherOptions
  private readonly warnings: RepeatedWarnings
  private readonly addedLines: RoutineLines
  /** Undefined until the rollup node has answered. */
  session: ActiveSession | undefined
  /** The last status that was accepted. */
  private previous: BatcherSyncStatus | undefined
  /** The last status, if it was rejected as out of sync. */
  private doubted: BatcherSyncStatus | undefined
  /** Blocks are loaded only after this wait has ended. Undefined if nothing is awaited. */
  private wait: NodeWait | undefined
  /** Why all held blocks and transactions in flight must be dropped. */
  private stepBackReason: string | undefined
  /** A flush was requested while no block was held. */
  private flushPending = false
  lastStatus: BatcherSyncStatus | undefined
  /** Why the last poll could not load blocks, as a sentence for operators. */
  loadError: string | undefined
  rollupNode: Reachability = { lastAnswerMs: undefined, error: undefined }

  constructor(modules: ChainFollowerModules, options: BatcherOptions) {
    this.modules = modules
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
    this.addedLines = new RoutineLines(modules, 'Added L2 block to local state')
    this.wait = this.createWait()
  }

  /** Why no blocks are loaded yet, as a sentence for operators. */
  get waitsFor(): string | undefined {
    return this.wait?.reason
  }

  /** Polls at every poll interval until `signal` aborts. Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.modules
    while (!signal.aborted) {
      try {
        await this.poll(signal)
        await sleep(clock, this.options.pollIntervalMs, signal)
      } catch (error) {
        if (signal.aborted) return
        if (isFatal(error)) {
          this.modules.onFatal(error)
          return
        }
        logger.error('Unexpected error, retrying on next tick', { err: error })
        await sleep(clock, this.options.pollIntervalMs, signal).catch(() => {})
      }
    }
  }

  /** Loads all unsafe blocks up to the L2's present head. */
  async loadToHead(signal: AbortSignal): Promise<void> {
    const { l2, clock } = this.modules
    let target = Number.POSITIVE_INFINITY
    for (let failed = 0; ; ) {
      try {
        target = Math.min(target, await l2.headNumber(signal))
        const status = await this.poll(signal)
        if (status === undefined)
          throw new DeviumError('rollup-node-silent', `the rollup node is unusable: ${this.rollupNode.error}`)
        const reached = Math.max(status.safeL2.number, this.session?.manager.newestBlock?.number ?? -1)
        if (this.wait === undefined && reached >= target) return
        failed = 0
      } catch (error) {
        if (signal.aborted || isFatal(error) || ++failed === MAX_FAILED_POLLS) throw error
        this.warnings.warn(LOAD_WARNING, error)
      }
      await sleep(clock, this.options.pollIntervalMs, signal)
    }
  }

  /** Closes the open channel now. If no block is held, the flush happens with the first block. */
  flush(): void {
    this.flushPending = true
    this.flushHeld()
  }

  /** Whether nothing is sent until the node has derived our last transaction. */
  get isSteppingBack(): boolean {
    return this.stepBackReason !== undefined || this.wait !== undefined
  }

  /**
   * Drops all held blocks and transactions in flight. Loading restarts when the node has derived our last transaction.
   */
  stepBack(reason: string): void {
    this.stepBackReason = reason
  }

  private flushHeld(): void {
    const { manager, publisher } = this.session ?? {}
    if (!this.flushPending || manager?.newestBlock === undefined) return
    this.flushPending = false
    manager.flush()
    publisher?.request()
  }

  private createWait(): NodeWait {
    const { waitNodeSync, checkRecentTxsDepth, poolTimeoutMs } = this.options
    const depth = waitNodeSync ? checkRecentTxsDepth : checkRecentTxsDepth || MAX_CHECK_RECENT_TXS_DEPTH
    return new NodeWait(this.modules, { depth, poolTimeoutMs })
  }

  /** Resolves with the node's sync status. Undefined if the request failed or the status was rejected. */
  private async poll(signal: AbortSignal): Promise<BatcherSyncStatus | undefined> {
    const status = await this.syncStatus(signal)
    if (status === undefined || this.session === undefined) return undefined
    const { manager, publisher } = this.session
    if (this.stepBackReason !== undefined) {
      await this.startAfresh(this.session, this.stepBackReason, status, signal)
      return status
    }
    if (await this.mustWaitForNode(status, signal)) return status

    const actions = computeSyncActions(status, this.previous, this.doubted, manager.blocks, manager.channels)
    if (actions.kind === 'outOfSync') {
      this.doubted = status
      this.rollupNode = { ...this.rollupNode, error: `it is out of sync: ${actions.reason}` }
      this.warnings.warn(RANGE_WARNING, `the rollup node is out of sync: ${actions.reason}`)
      return undefined
    }
    this.previous = status
    this.doubted = undefined
    if (actions.kind === 'startAfresh') {
      await this.startAfresh(this.session, actions.reason, status, signal)
      return status
    }
    manager.prune(status.safeL2.number)
    try {
      if (actions.load !== undefined) await this.loadRange(this.session, actions.load, status, signal)
      this.loadError = undefined
      this.flushHeld()
      this.flushPending &&= manager.newestBlock !== undefined
    } catch (error) {
      if (signal.aborted) throw error
      this.loadError = `loading from the L2 execution client failed: ${describeError(error)}`
      this.warnings.warn(LOAD_WARNING, error)
    }
    // Blocks that are not loaded count like the average held block: they wait for L1 too.
    const unloaded = Math.max(0, status.unsafeL2.number - (manager.newestBlock?.number ?? Number.POSITIVE_INFINITY))
    this.modules.throttler.update(Math.round(manager.unsafeDaBytes * (1 + unloaded / (manager.blocks.length || 1))))
    // Also without new blocks: the deadline of an open channel may have passed.
    publisher.request()
    return status
  }

  /** Undefined if the request failed. The first answer also creates the session. */
  private async syncStatus(signal: AbortSignal): Promise<BatcherSyncStatus | undefined> {
    try {
      const status = await fetchSyncStatus(this.modules, this.options.networkTimeoutMs, signal)
      this.lastStatus = status
      this.rollupNode = { lastAnswerMs: this.modules.clock.now(), error: undefined }
      this.session ??= await this.modules.connect(status, signal)
      return status
    } catch (error) {
      if (signal.aborted || isFatal(error)) throw error
      this.rollupNode = { ...this.rollupNode, error: describeError(error) }
      this.warnings.warn(RANGE_WARNING, error)
      return undefined
    }
  }

  private async mustWaitForNode(status: BatcherSyncStatus, signal: AbortSignal): Promise<boolean> {
    if (this.wait === undefined) return false
    try {
      if (await this.wait.isOver(status, signal)) this.wait = undefined
      this.loadError = undefined
    } catch (error) {
      if (signal.aborted) throw error
      this.loadError = `the L1 is unusable: ${describeError(error)}`
      this.warnings.warn(RANGE_WARNING, error)
    }
    return this.wait !== undefined
  }

  private async loadRange(
    { manager, publisher }: ActiveSession,
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
        // The execution client may follow another chain than the rollup node.
        const isForeign = isAfterSafe && block.parentHash !== status.safeL2.hash
        if (isForeign || !manager.addBlock(block)) {
          logger.warn('Found L2 reorg', { block_number: block.number, block: block.hash })
          await this.startAfresh({ manager, publisher }, 'unsafe chain reorg', status, signal)
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

  /**
   * Above the limit, loading pauses until blocks become safe. The open channel is flushed: no more blocks would fill
   * it.
   */
  private isFull(manager: ChannelManager): boolean {
    if (manager.memoryBytes <= MAX_HELD_BYTES) return false
    this.modules.logger.debug('Loading is paused: too many unsafe blocks are held. It resumes when some become safe', {
      bytes: manager.memoryBytes,
    })
    manager.flush()
    return true
  }

  /**
   * Drops all held blocks. Empty transactions replace ours that are not mined, so that abandoned blocks do not reach
   * L1. Transactions that are mined may still be derived: loading restarts when the node has derived them.
   */
  private async startAfresh(
    { manager, publisher }: ActiveSession,
    reason: string,
    status: BatcherSyncStatus,
    signal: AbortSignal,
  ): Promise<void> {
    this.modules.logger.warn('Clearing state', { reason, safe: status.safeL2.number })
    this.stepBackReason = undefined
    manager.clear(status.safeL2.l1OriginNumber)
    this.previous = undefined
    this.wait = this.createWait()
    await publisher.abandon(signal)
  }
}
