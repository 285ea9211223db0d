import { type Clock, systemClock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import type { DerivedAttributes } from '../derive/index.ts'
import { payloadToL2BlockRef } from '../protocol/index.ts'
import {
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_L2_REF,
} from '../protocol/types.ts'
import { type BuildJob, fetchBlock } from './blockBuilding.ts'
import { type AttributesOutcome, DerivedBlocks } from './derivedBlocks.ts'
import { CONSENSUS_LAYER_SYNC, ElSync, type SafeHeadHistory, type SyncOptions } from './elSync.ts'
import { EngineCalls } from './engineCalls.ts'
import { EngineError, isAboutBlock } from './engineErrors.ts'
import { FollowedChain, type FollowedHeads, type PrepareDeposits } from './followedChain.ts'
import { findMismatch } from './matchAttributes.ts'
import { ReadAhead } from './readAhead.ts'
import type { Engine, EngineHeads } from './types.ts'

/** The cause of a head's move: a received block, L1 data, the sequencer's own block, or a reset. */
export type HeadsMovedBy = 'payload' | 'derivation' | 'sequencer' | 'reset'

type HeadsListener = (heads: EngineHeads, movedBy: HeadsMovedBy) => void

/**
 * `unconnected`: the block's parent is not the unsafe head. `skipped`: the engine does not need a block above a gap.
 */
export type InsertOutcome = 'inserted' | 'unconnected' | 'skipped' | 'invalid'

/** Number of blocks that are read at a time for consolidation. */
const CONSOLIDATION_WINDOW = 16

export interface EngineControllerModules {
  engine: Engine
  /** Used after the engine's own sync, to continue where derivation was. */
  history?: SafeHeadHistory | undefined
  clock?: Clock
  logger: Logger
}

/**
 * The only place that moves a head. Operations that change the engine run one after the other. Each operation leaves
 * heads and engine in agreement, or throws an EngineError whose severity says how to continue.
 */
export class EngineController {
  private readonly engine: Engine
  private readonly calls: EngineCalls
  private readonly elSync: ElSync
  /** Blocks of the unsafe chain, for consolidation. */
  private readonly unsafeBlocks: ReadAhead<PayloadEnvelope | undefined>
  private readonly derivedBlocks: DerivedBlocks
  private readonly followedChain: FollowedChain
  private readonly logger: Logger
  private readonly config: RollupConfig
  private readonly lock = createSemaphore(1)
  private readonly listeners = new Set<HeadsListener>()
  private current: EngineHeads = {
    unsafe: ZERO_L2_REF,
    pendingSafe: ZERO_L2_REF,
    safe: ZERO_L2_REF,
    finalized: ZERO_L2_REF,
  }
  private isReady = false

  constructor(modules: EngineControllerModules, config: RollupConfig, sync: SyncOptions = CONSENSUS_LAYER_SYNC) {
    const { engine, history, clock = systemClock, logger } = modules
    this.engine = engine
    this.logger = logger
    this.config = config
    this.elSync = new ElSync({ engine, history, clock, logger }, config, sync)
    this.calls = new EngineCalls({ engine, elSync: this.elSync, logger }, config)
    const read = (number: number) => engine.payloadByNumber(number)
    this.unsafeBlocks = new ReadAhead(read, { window: CONSOLIDATION_WINDOW, step: 1 })
    const parts = { calls: this.calls, owner: this.headsOwner(), logger }
    this.derivedBlocks = new DerivedBlocks(parts, config)
    this.followedChain = new FollowedChain(parts)
  }

  /** False until the first reset has set the heads, and after a failed reset. */
  get ready(): boolean {
    return this.isReady
  }

  /** True during the engine's first sync over its own network. Nothing is derived, and `ready` is false. */
  get syncing(): boolean {
    return this.elSync.isInitial
  }

  /** True if blocks must be sent to the engine as they arrive, by `insertDirectly`. */
  get takesAnyBlock(): boolean {
    return this.elSync.takesAnyBlock
  }

  /** True if the engine closes gaps of the unsafe chain: it gets the block above a gap by `insertDirectly`. */
  get closesGaps(): boolean {
    return this.elSync.closesGaps
  }

  /** True if peers may still send blocks of a chain that the followed node has replaced. */
  get hasLeftChain(): boolean {
    return this.followedChain.hasLeftChain
  }

  /** Zero references before the first reset. During the engine's own sync, `unsafe` is its target. */
  get heads(): EngineHeads {
    return this.current
  }

  /** Calls the listener after every change of a head. */
  subscribe(listener: HeadsListener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Sets the engine and the heads to the result of `find`. No other operation runs meanwhile. */
  reset(find: () => Promise<Pick<EngineHeads, 'unsafe' | 'safe' | 'finalized'>>): Promise<EngineHeads> {
    return this.lock.run(async () => {
      this.isReady = false
      const { unsafe, safe, finalized } = await find()
      this.derivedBlocks.reset()
      this.calls.forget()
      const heads = { unsafe, safe, pendingSafe: safe, finalized }
      await this.calls.sendForkchoice(heads)
      this.isReady = true
      this.move(heads, 'reset')
      return heads
    })
  }

  /** Inserts a block that extends the unsafe chain. Throws if the engine cannot accept it now. */
  insertUnsafePayload(envelope: PayloadEnvelope): Promise<InsertOutcome> {
    return this.lock.run(async () => {
      this.checkReady()
      if (envelope.payload.parentHash !== this.current.unsafe.hash) return 'unconnected'
      const block = await this.execute(envelope, 'child')
      if (block === undefined) return 'invalid'
      try {
        await this.calls.sendForkchoice({ ...this.current, unsafe: block }, 'temporary')
      } catch (error) {
        // An engine that closes gaps accepts a block without its parent, and reports only now that it lost the parent.
        if (error instanceof EngineError && error.code === 'engine-syncing')
          await this.calls.checkHas(this.current.unsafe)
        throw error
      }
      this.move({ unsafe: block }, 'payload')
      return 'inserted'
    })
  }

  /**
   * Sends the engine a block above its unsafe head, even with a gap: the engine syncs to it. With execution-layer sync
   * this begins and ends the engine's first sync. Afterwards the heads must be found by a reset.
   */
  insertDirectly(envelope: PayloadEnvelope): Promise<InsertOutcome> {
    return this.lock.run(async () => {
      if (!this.syncing) this.checkReady()
      if (envelope.payload.blockNumber <= this.current.unsafe.number) return 'unconnected'
      if (!(await this.beginSync())) return 'skipped'
      const block = await this.execute(envelope, 'distant')
      if (block === undefined) return 'invalid'
      await this.calls.sendForkchoice({ ...this.current, unsafe: block }, 'temporary')
      // Either answer may report that the engine has reached the block. Only then do the block numbers belong to its
      // chain.
      if (this.elSync.isFinishing) await this.finishSync(block)
      else this.move({ unsafe: block }, 'payload')
      return 'inserted'
    })
  }

  /** Consolidates derived attributes with the unsafe chain, or builds their block on the pending safe head. */
  processAttributes(derived: DerivedAttributes): Promise<AttributesOutcome> {
    return this.lock.run(async () => {
      this.checkReady()
      const { pendingSafe, unsafe } = this.current
      if (derived.parent.number !== pendingSafe.number) return { kind: 'stale' }
      if (derived.parent.hash !== pendingSafe.hash) {
        throw new EngineError(
          'engine-state',
          `attributes were derived on ${derived.parent.hash}, not on the pending safe head ${pendingSafe.hash}`,
        )
      }
      if (unsafe.number <= pendingSafe.number) return this.derivedBlocks.build(derived)
      const number = pendingSafe.number + 1
      const existing = await this.unsafeBlocks.take(number, unsafe.number)
      if (existing === undefined) {
        throw new EngineError('engine-state', `engine does not have block ${number} of its unsafe chain`)
      }
      const mismatch = findMismatch(derived.attributes, pendingSafe.hash, existing, this.config)
      if (mismatch === undefined) {
        const block = payloadToL2BlockRef(existing.payload, this.config)
        this.derivedBlocks.consolidate(block, derived.isLastInSpan)
        return { kind: 'consolidated', block }
      }
      this.logger.warn('L2 reorg: existing unsafe block does not match derived attributes from L1', {
        mismatch,
        block: existing.payload.blockHash,
        number,
        unsafe: unsafe.number,
      })
      return this.derivedBlocks.replaceUnsafe(derived)
    })
  }

  /** Sends the heads to the engine if they have changed since the last call. */
  updateForkchoice(): Promise<void> {
    return this.lock.run(async () => {
      if (!this.isReady || this.calls.knows(this.current)) return
      await this.calls.sendForkchoice(this.current)
    })
  }

  /** Adopts the heads that another node derived. `prepare` gives attributes of blocks that replace invalid blocks. */
  follow(heads: FollowedHeads, prepare?: PrepareDeposits): Promise<void> {
    return this.lock.run(async () => {
      this.checkReady()
      await this.followedChain.follow(heads, prepare)
    })
  }

  /** Finalized may neither go back nor pass safe: such a call is logged and ignored. */
  setFinalized(block: L2BlockRef): void {
    const { finalized, safe } = this.current
    if (block.number < finalized.number || block.number > safe.number) {
      this.logger.error('Ignoring a finalized block outside of the safe chain', {
        block: block.number,
        finalized: finalized.number,
        safe: safe.number,
      })
      return
    }
    if (block.hash !== finalized.hash) this.move({ finalized: block }, 'derivation')
  }

  /** Starts a block of the sequencer on the unsafe head. */
  startBuild(parent: L2BlockRef, attributes: PayloadAttributes): Promise<BuildJob> {
    return this.lock.run(async () => {
      this.checkReady()
      this.checkParent(parent.hash)
      this.followedChain.checkParent(parent)
      return this.calls.startBlock(parent, this.current, attributes)
    })
  }

  /** Ends the building. The block is complete, but not yet part of the chain. */
  sealBuild(job: BuildJob): Promise<PayloadEnvelope> {
    return fetchBlock(this.engine, job)
  }

  /** Makes a sealed block the unsafe head. Throws `stale-parent` if another block became the head in the meantime. */
  insertSealed(envelope: PayloadEnvelope): Promise<L2BlockRef> {
    return this.lock.run(async () => {
      this.checkReady()
      this.checkParent(envelope.payload.parentHash)
      const block = payloadToL2BlockRef(envelope.payload, this.config)
      await this.calls.insert({ envelope, block })
      await this.calls.sendForkchoice({ ...this.current, unsafe: block })
      this.move({ unsafe: block }, 'sequencer')
      return block
    })
  }

  /** Returns true if blocks may be sent to the engine for a sync. The first block begins the sync. */
  private async beginSync(): Promise<boolean> {
    let goesOn: boolean
    try {
      goesOn = await this.elSync.begin()
    } catch (cause) {
      throw new EngineError('engine-call', 'reading the finalized block failed', { cause })
    }
    // Derivation waits for the end of the sync. A move of the heads notifies it.
    if (!goesOn) this.move({}, 'reset')
    return goesOn
  }

  private async finishSync(unsafe: L2BlockRef): Promise<void> {
    const { safe, finalized } = await this.elSync.headsAfter(unsafe)
    await this.calls.sendForkchoice({ unsafe, safe, pendingSafe: safe, finalized }, 'temporary')
    this.elSync.finish(unsafe, safe)
    this.move({ unsafe, safe, pendingSafe: safe, finalized }, 'payload')
  }

  /**
   * Returns undefined for an unusable block. Otherwise it would be tried again and again, and would block the
   * sequencer's other block of this height.
   */
  private async execute(envelope: PayloadEnvelope, kind: 'child' | 'distant'): Promise<L2BlockRef | undefined> {
    const { blockHash, blockNumber } = envelope.payload
    try {
      const block = payloadToL2BlockRef(envelope.payload, this.config)
      return (await this.calls.executePayload(envelope, kind)) ? block : undefined
    } catch (error) {
      if (!isAboutBlock(error)) throw error
      this.logger.warn('Rejected block', { block: blockHash, number: blockNumber, problem: describeError(error) })
      return undefined
    }
  }

  private headsOwner() {
    const controller = this
    return {
      get heads() {
        return controller.current
      },
      move: (changes: Partial<EngineHeads>) => controller.move(changes, 'derivation'),
    }
  }

  private checkReady(): void {
    if (!this.isReady) throw new EngineError('engine-not-ready', 'engine heads are not known yet')
  }

  private checkParent(parentHash: string): void {
    const { hash } = this.current.unsafe
    if (parentHash !== hash)
      throw new EngineError('stale-parent', `unsafe head is now ${hash}, no longer ${parentHash}`)
  }

  private move(changes: Partial<EngineHeads>, movedBy: HeadsMovedBy): void {
    const previous = this.current.unsafe
    this.current = { ...this.current, ...changes }
    const { unsafe } = this.current
    // Prefetched blocks of the unsafe chain stay valid while blocks are only appended.
    if (unsafe.hash !== previous.hash && unsafe.parentHash !== previous.hash) this.unsafeBlocks.clear()
    for (const listener of this.listeners) listener(this.current, movedBy)
  }
}
