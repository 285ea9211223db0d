import type { Clock } from '../../lib/clock.ts'
import { DeviumError, severityOf } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { SerialLock } from '../../lib/serialLock.ts'
import { WakeUp } from '../../lib/wakeUp.ts'
import { type BuildJob, EngineError, type EngineHeads } from '../engine/index.ts'
import { isForkActivationBlock, maxSequencerDrift } from '../protocol/index.ts'
import {
  type BlockId,
  type Fork,
  type L1BlockRef,
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_HASH,
} from '../protocol/types.ts'

/** The engine controller as the sequencer uses it. */
export interface SequencerEngine {
  readonly ready: boolean
  readonly heads: EngineHeads
  subscribe(listener: (heads: EngineHeads) => void): () => void
  startBuild(parent: L2BlockRef, attributes: PayloadAttributes): Promise<BuildJob>
  sealBuild(job: BuildJob): Promise<PayloadEnvelope>
  insertSealed(envelope: PayloadEnvelope): Promise<L2BlockRef>
}

/** Deposits and parameters of the next block, without transactions of its own. */
export interface SequencerAttributes {
  prepare(parent: L2BlockRef, epoch: BlockId): Promise<PayloadAttributes>
}

export interface SequencerOrigins {
  select(parent: L2BlockRef): Promise<L1BlockRef>
  reset(): void
}

export interface SequencerModules {
  engine: SequencerEngine
  attributes: SequencerAttributes
  origins: SequencerOrigins
  /** Signs and gossips. Called before the block is inserted here; a failure is logged and the block stands. */
  publish: (envelope: PayloadEnvelope) => Promise<void>
  /** Asks for a reset of heads and pipeline; resolves when it is done. */
  requestReset: () => Promise<void>
  /** Called when building starts or stops, before the change is reported to the caller. */
  onActiveChange?: (active: boolean) => Promise<void>
  clock: Clock
  logger: Logger
}

export interface SequencerOptions {
  /** Builds from the first engine reset on. */
  active: boolean
  /** L2 blocks that unsafe may be ahead of safe; 0 = no bound (op-node's `sequencer.max-safe-lag`). */
  maxSafeLag: number
  /** Time before a block's timestamp at which it is sealed (op-node's `sequencer.sealing-duration`). */
  sealingMarginMs?: number
}

export class SequencerError extends DeviumError<
  'sequencer-running' | 'sequencer-stopped' | 'no-prestate' | 'wrong-head'
> {
  override readonly name = 'SequencerError'
}

/** op-node: sealing takes its time, and the block is wanted at its timestamp. */
const DEFAULT_SEALING_MARGIN_MS = 50
const TEMPORARY_RETRY_MS = 1000
const SYNCING_RETRY_MS = 30_000
/** Timers of 2^31 ms and more fire at once: a chain may start in the far future. */
const MAX_TIMER_MS = 3_600_000
/** specs: the activation blocks of these forks hold upgrade transactions or change rules, and must have no others. */
const FORKS_WITHOUT_POOL: readonly Fork[] = ['ecotone', 'fjord', 'isthmus', 'jovian', 'karst', 'lagoon']

/**
 * Builds blocks so that each is the head at its timestamp. A loop of its own: `run` sleeps until the next action is
 * due or the heads move. Whatever goes wrong, the block under way is given up or, once sealed, inserted again: a
 * sealed block has been gossiped and must not be replaced by another one of the same height.
 */
export class Sequencer {
  private readonly modules: SequencerModules
  private readonly config: RollupConfig
  private readonly maxSafeLag: number
  private readonly sealingMarginMs: number
  private readonly wakeUp: WakeUp
  private readonly lock = new SerialLock()
  private isActive: boolean
  private job: BuildJob | undefined
  private sealed: PayloadEnvelope | undefined
  private notBeforeMs = 0
  private isLagging = false
  private isResetting = false
  private failures = 0

  constructor(modules: SequencerModules, config: RollupConfig, options: SequencerOptions) {
    this.modules = modules
    this.config = config
    this.isActive = options.active
    this.maxSafeLag = options.maxSafeLag
    this.sealingMarginMs = options.sealingMarginMs ?? DEFAULT_SEALING_MARGIN_MS
    this.wakeUp = new WakeUp(modules.clock)
  }

  get active(): boolean {
    return this.isActive
  }

  /** Starts building on the unsafe head, whose hash must be the given one if there is one. */
  start(unsafeHead?: Hex): Promise<void> {
    return this.lock.run(async () => {
      if (this.isActive) throw new SequencerError('sequencer-running', 'sequencer already running')
      const { engine } = this.modules
      const head = engine.heads.unsafe
      if (!engine.ready || head.hash === ZERO_HASH) {
        throw new SequencerError(
          'no-prestate',
          `no prestate, cannot determine if sequencer start at ${unsafeHead ?? 'the unsafe head'} is safe`,
        )
      }
      if (unsafeHead !== undefined && unsafeHead !== head.hash) {
        throw new SequencerError(
          'wrong-head',
          `block hash does not match: head ${head.hash}:${head.number}, received ${unsafeHead}`,
        )
      }
      await this.modules.onActiveChange?.(true)
      this.isActive = true
      this.notBeforeMs = 0
      this.modules.logger.info('Started sequencer', { head: head.hash, number: head.number })
      this.wakeUp.wake()
    })
  }

  /** Waits until the last sealed block is the head, gives up a block under way, and returns the head's hash. */
  async stop(): Promise<Hex> {
    if (!this.isActive) throw new SequencerError('sequencer-stopped', 'sequencer not running')
    return this.lock.run(async () => {
      if (!this.isActive) throw new SequencerError('sequencer-stopped', 'sequencer not running')
      if (this.sealed !== undefined) await this.insertSealed(this.sealed).catch(ignoreStaleParent)
      await this.modules.onActiveChange?.(false)
      this.isActive = false
      this.job = undefined
      const head = this.modules.engine.heads.unsafe
      this.modules.logger.info('Stopped sequencer', { head: head.hash, number: head.number })
      return head.hash
    })
  }

  /** Runs until the signal aborts; rejects on an error after which the node must stop. */
  async run(signal: AbortSignal): Promise<void> {
    const { engine, clock } = this.modules
    const unsubscribe = engine.subscribe(() => this.wakeUp.wake())
    try {
      while (!signal.aborted) {
        const dueMs = this.nextActionMs()
        const waitMs = dueMs === undefined ? undefined : dueMs - clock.now()
        if (waitMs === undefined) await this.wakeUp.wait(signal)
        else if (waitMs > 0) await this.wakeUp.wait(signal, Math.min(waitMs, MAX_TIMER_MS))
        else await this.lock.run(() => this.act())
      }
    } finally {
      unsubscribe()
    }
  }

  /** When `act` has something to do; undefined while only an event can change that. */
  private nextActionMs(): number | undefined {
    const { engine } = this.modules
    if (!this.isActive || !engine.ready || this.isResetting) return undefined
    if (this.sealed !== undefined) return this.notBeforeMs
    const { unsafe } = engine.heads
    if (this.job !== undefined && this.job.parent.hash === unsafe.hash) {
      return Math.max(this.notBeforeMs, this.job.timestamp * 1000 - this.sealingMarginMs)
    }
    if (this.mustWaitForSafe()) return undefined
    // A block is started when the one before it is due: the pool is then read as late as the block time allows.
    return Math.max(this.notBeforeMs, unsafe.timestamp * 1000)
  }

  private mustWaitForSafe(): boolean {
    const { unsafe, safe } = this.modules.engine.heads
    const isLagging = this.maxSafeLag > 0 && safe.number + this.maxSafeLag <= unsafe.number
    if (isLagging && !this.isLagging) {
      this.modules.logger.warn('Sequencer has exceeded max safe lag and waits', {
        unsafe: unsafe.number,
        safe: safe.number,
      })
    }
    this.isLagging = isLagging
    return isLagging
  }

  private async act(): Promise<void> {
    const dueMs = this.nextActionMs()
    // A stop or a new head may have come between the decision and the lock.
    if (dueMs === undefined || dueMs > this.modules.clock.now()) return
    try {
      if (this.sealed !== undefined) await this.insertSealed(this.sealed)
      else if (this.job !== undefined && this.job.parent.hash === this.modules.engine.heads.unsafe.hash)
        await this.seal(this.job)
      else await this.startBlock()
    } catch (error) {
      this.handleError(error)
    }
  }

  private async startBlock(): Promise<void> {
    const { engine, origins, attributes, logger } = this.modules
    this.job = undefined
    const parent = engine.heads.unsafe
    const origin = await origins.select(parent)
    const prepared = await attributes.prepare(parent, origin)
    const noTxPool = this.mustBeEmpty(prepared.timestamp, origin)
    this.job = await engine.startBuild(parent, { ...prepared, noTxPool })
    logger.debug('Started building block', { number: parent.number + 1, origin: origin.number, noTxPool })
  }

  private mustBeEmpty(l2Time: number, origin: L1BlockRef): boolean {
    if (l2Time > origin.timestamp + maxSequencerDrift(this.config, origin.timestamp)) return true
    return FORKS_WITHOUT_POOL.some((fork) => isForkActivationBlock(this.config, fork, l2Time))
  }

  private async seal(job: BuildJob): Promise<void> {
    this.job = undefined
    const envelope = await this.modules.engine.sealBuild(job)
    this.sealed = envelope
    // Gossip goes first: peers then execute the block while this node does.
    this.modules.publish(envelope).catch((error) => {
      this.modules.logger.warn('Could not publish block', { number: envelope.payload.blockNumber, err: error })
    })
    await this.insertSealed(envelope)
  }

  private async insertSealed(envelope: PayloadEnvelope): Promise<void> {
    try {
      const block = await this.modules.engine.insertSealed(envelope)
      this.modules.logger.info('Sequenced block', {
        number: block.number,
        hash: block.hash,
        txs: envelope.payload.transactions.length,
        gasUsed: envelope.payload.gasUsed,
        origin: block.l1Origin.number,
      })
      this.sealed = undefined
      if (this.failures > 0) this.modules.logger.info('Building blocks again', { failures: this.failures })
      this.failures = 0
    } catch (error) {
      if (error instanceof EngineError && (error.code === 'stale-parent' || error.code === 'invalid-payload'))
        this.sealed = undefined
      throw error
    }
  }

  private handleError(error: unknown): void {
    const { clock, logger, origins } = this.modules
    const code = error instanceof DeviumError ? error.code : undefined
    const severity = severityOf(error)
    const blockTimeMs = this.config.blockTime * 1000
    if (severity === 'critical') throw error
    if (code === 'stale-parent') {
      logger.debug('Head moved while a block was built', { err: error })
      return
    }
    if (severity === 'reset') {
      logger.warn('Sequencer needs a reset', { err: error })
      this.job = undefined
      origins.reset()
      this.isResetting = true
      this.modules.requestReset().then(
        () => this.resumeAt(clock.now() + blockTimeMs),
        () => this.resumeAt(clock.now() + TEMPORARY_RETRY_MS),
      )
      return
    }
    // One line an outage: the next is written when it is over.
    if (this.failures++ === 0) logger.warn('Could not build block', { err: error })
    else logger.debug('Could not build block', { err: error, failures: this.failures })
    if (code === 'invalid-payload') this.notBeforeMs = clock.now() + blockTimeMs
    else this.notBeforeMs = clock.now() + (code === 'engine-syncing' ? SYNCING_RETRY_MS : TEMPORARY_RETRY_MS)
  }

  private resumeAt(timeMs: number): void {
    this.isResetting = false
    this.notBeforeMs = timeMs
    this.wakeUp.wake()
  }
}

/** Another block took the place of the sealed one: there is nothing left to wait for. */
function ignoreStaleParent(error: unknown): void {
  if (!(error instanceof EngineError) || error.code !== 'stale-parent') throw error
}
