import type { Clock } from '../../lib/clock.ts'
import { severityOf } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import { WakeUp } from '../../lib/wakeUp.ts'
import type { EngineController, InsertOutcome } from '../engine/index.ts'
import { hasMoreThanL1Info, payloadToL2BlockRef, transactionTotals } from '../protocol/index.ts'
import { type L2BlockRef, type PayloadEnvelope, type RollupConfig, ZERO_L2_REF } from '../protocol/types.ts'
import type { NodeMetrics } from './metrics.ts'
import { UnsafeQueue } from './unsafeQueue.ts'

export interface UnsafeChainModules {
  engine: Pick<
    EngineController,
    | 'ready'
    | 'heads'
    | 'takesAnyBlock'
    | 'closesGaps'
    | 'hasLeftChain'
    | 'subscribe'
    | 'insertUnsafePayload'
    | 'insertDirectly'
  >
  /**
   * Requests the ancestors of `above` from start (inclusive) to end (exclusive) from peers. Returns false if they
   * cannot be requested. Absent if peers cannot serve blocks.
   */
  requestRange?: ((start: number, end: number, above: PayloadEnvelope) => boolean) | undefined
  requestReset: () => Promise<void>
  metrics: NodeMetrics
  clock: Clock
  logger: Logger
}

/** The missing blocks below the lowest waiting block. */
export interface UnsafeGap {
  first: number
  last: number
  /** Unix milliseconds. */
  sinceMs: number
  /** The source from which the blocks are requested. L1 delivers them in any case. */
  asks: 'peers' | 'engine'
}

/** Delay between attempts to insert the same block on the same head. */
const backoff = exponentialBackoff(1000, 10_000)

/**
 * Extends the unsafe chain with gossiped blocks, in order. A block whose parent is missing waits until gossip, peers or
 * derivation close the gap. Every new block and every move of a head wakes this loop.
 */
export class UnsafeChain {
  private readonly modules: UnsafeChainModules
  private readonly config: RollupConfig
  private readonly queue = new UnsafeQueue()
  private readonly wakeUp: WakeUp
  private readonly insertedLines: RoutineLines
  private requested = { start: 0, end: 0, atMs: Number.NEGATIVE_INFINITY, isSent: false }
  private failures = 0
  /** The block that the engine did not accept, its intended parent, and the time of the next attempt. */
  private failed: { block: Hex; unsafe: Hex; untilMs: number } | undefined

  /** The head below a gap, and since when it has not moved. */
  private gap: { unsafe: Hex; sinceMs: number } | undefined
  private missing: Pick<UnsafeGap, 'sinceMs' | 'asks'> | undefined

  constructor(modules: UnsafeChainModules, config: RollupConfig) {
    this.modules = modules
    this.config = config
    this.wakeUp = new WakeUp(modules.clock)
    this.insertedLines = new RoutineLines(modules, 'Inserted new L2 unsafe block')
  }

  add(envelope: PayloadEnvelope): void {
    const { heads } = this.modules.engine
    if (envelope.payload.blockNumber <= heads.safe.number) return
    if (!this.queue.add(envelope)) return
    this.reportQueue()
    this.wakeUp.wake()
  }

  /** The lowest waiting block. All zero if no block waits, or if its L1 info is invalid. */
  get lowestQueued(): L2BlockRef {
    const lowest = this.queue.peek()
    if (lowest === undefined) return ZERO_L2_REF
    try {
      return payloadToL2BlockRef(lowest.payload, this.config)
    } catch {
      return ZERO_L2_REF
    }
  }

  get unsafeGap(): UnsafeGap | undefined {
    const lowest = this.queue.peek()?.payload.blockNumber
    const first = this.modules.engine.heads.unsafe.number + 1
    if (this.missing === undefined || lowest === undefined || lowest <= first) return undefined
    return { first, last: lowest - 1, ...this.missing }
  }

  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.modules.engine.subscribe(() => {
      if (this.queue.length > 0) this.wakeUp.wake()
    })
    try {
      while (!signal.aborted) {
        const waitMs = await this.advance()
        if (waitMs !== 0) await this.wakeUp.wait(signal, waitMs)
      }
    } finally {
      unsubscribe()
    }
  }

  /** Processes the lowest block. Returns the milliseconds until the next attempt; undefined: wait for an event. */
  private async advance(): Promise<number | undefined> {
    const { engine, logger } = this.modules
    const lowest = this.queue.peek()
    if (lowest === undefined || !(engine.ready || engine.takesAnyBlock)) return undefined
    const { blockNumber, blockHash, parentHash } = lowest.payload
    const { unsafe } = engine.heads
    if (blockNumber <= unsafe.number) {
      if (blockHash !== unsafe.hash)
        logger.debug('Dropped block at or below the unsafe head', { number: blockNumber, block: blockHash })
      return this.drop()
    }
    if (engine.takesAnyBlock) {
      const waitMs = await this.insert(lowest, () => engine.insertDirectly(lowest))
      // No block depends on this one, so after a failure the next block is sufficient.
      return waitMs === 0 ? 0 : this.drop()
    }
    if (blockNumber > unsafe.number + 1) {
      return engine.closesGaps ? this.leaveGapToEngine(lowest) : this.requestMissing(unsafe.number + 1, lowest)
    }
    this.missing = undefined
    if (parentHash !== unsafe.hash) {
      logger.info('Dropped block that does not extend the unsafe head', {
        number: blockNumber,
        block: blockHash,
        parent: parentHash,
        unsafe: unsafe.hash,
      })
      return this.drop()
    }
    return this.insert(lowest, () => engine.insertUnsafePayload(lowest))
  }

  private async insert(envelope: PayloadEnvelope, give: () => Promise<InsertOutcome>): Promise<number> {
    const { engine, clock, logger } = this.modules
    const { blockNumber, blockHash } = envelope.payload
    const { unsafe } = engine.heads
    const isSame = this.failed?.block === blockHash && this.failed.unsafe === unsafe.hash
    const waitMs = isSame ? (this.failed?.untilMs ?? 0) - clock.now() : 0
    // Heads that were merely found again do not trigger an attempt.
    if (waitMs > 0) return waitMs
    try {
      const outcome = await give()
      this.failed = undefined
      if (this.failures > 0) logger.info('Inserting unsafe blocks again', { failures: this.failures })
      this.failures = 0
      // The head may have moved while the block waited for the engine, so it is checked again.
      if (outcome === 'unconnected') return 0
      if (outcome === 'inserted') {
        const { count: txs } = transactionTotals(envelope.payload)
        const fields = { number: blockNumber, hash: blockHash, txs, origin: engine.heads.unsafe.l1Origin.number }
        this.insertedLines.write(fields, { isNews: hasMoreThanL1Info(txs) })
      }
      return this.drop()
    } catch (error) {
      const severity = severityOf(error)
      if (severity === 'critical') throw error
      // One line for an outage; the next line reports its end.
      if (this.failures++ === 0) logger.warn('Could not insert unsafe block', { number: blockNumber, err: error })
      // Not awaited: the engine is not ready during the reset, and its end moves the heads.
      if (severity === 'reset') this.modules.requestReset().catch(() => undefined)
      const delayMs = backoff(this.failures)
      this.failed = { block: blockHash, unsafe: unsafe.hash, untilMs: clock.now() + delayMs }
      return delayMs
    }
  }

  /** After op-node's interval (two block times without a move of the head), the engine gets the block above the gap. */
  private async leaveGapToEngine(above: PayloadEnvelope): Promise<number> {
    const { engine, clock } = this.modules
    this.note('engine')
    const { hash } = engine.heads.unsafe
    if (this.gap?.unsafe !== hash) this.gap = { unsafe: hash, sinceMs: clock.now() }
    const intervalMs = 2000 * this.config.blockTime
    // The engine would sync back to the old chain. It gets the followed node's heads in any case.
    if (engine.hasLeftChain) return intervalMs
    const waitMs = this.gap.sinceMs + intervalMs - clock.now()
    return waitMs > 0 ? waitMs : this.insert(above, () => engine.insertDirectly(above))
  }

  private drop(): 0 {
    this.queue.pop()
    this.reportQueue()
    return 0
  }

  /**
   * A new or smaller gap is requested at once. The same gap is requested again after op-node's interval, two block
   * times.
   */
  private requestMissing(start: number, above: PayloadEnvelope): number | Promise<number> {
    const { requestRange, clock, logger } = this.modules
    if (requestRange === undefined) return this.leaveGapToEngine(above)
    const end = above.payload.blockNumber
    const intervalMs = 2000 * this.config.blockTime
    const elapsedMs = clock.now() - this.requested.atMs
    const isSame = start === this.requested.start && end === this.requested.end
    if (!isSame || elapsedMs >= intervalMs) {
      logger.debug('Requesting missing unsafe blocks from peers', { start, end })
      this.requested = { start, end, atMs: clock.now(), isSent: requestRange(start, end, above) }
    } else if (this.requested.isSent) return intervalMs - elapsedMs
    if (!this.requested.isSent) return this.leaveGapToEngine(above)
    this.note('peers')
    return intervalMs
  }

  private note(asks: UnsafeGap['asks']): void {
    this.missing = { sinceMs: this.missing?.sinceMs ?? this.modules.clock.now(), asks }
  }

  private reportQueue(): void {
    const lowest = this.queue.peek()?.payload
    this.modules.metrics.unsafeQueue(
      this.queue.length,
      this.queue.sizeBytes,
      lowest && { number: lowest.blockNumber, hash: lowest.blockHash },
    )
  }
}
