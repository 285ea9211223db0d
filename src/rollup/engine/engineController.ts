import { type Clock, systemClock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { SerialLock } from '../../lib/serialLock.ts'
import { isForkActive, payloadToL2BlockRef } from '../protocol/index.ts'
import {
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_L2_REF,
} from '../protocol/types.ts'
import { type BuildJob, fetchBlock, isDepositsOnly, withDepositsOnly } from './blockBuilding.ts'
import { CONSENSUS_LAYER_SYNC, ElSync, type SafeHeadHistory, type SyncOptions } from './elSync.ts'
import { EngineCalls } from './engineCalls.ts'
import { EngineError, isAboutBlock } from './engineErrors.ts'
import { findMismatch } from './matchAttributes.ts'
import type { DerivedAttributes, Engine, EngineHeads } from './types.ts'
import { UnsafeBlocks } from './unsafeBlocks.ts'

/** What became of derived attributes. */
export type AttributesOutcome =
  /** The unsafe chain already has the block. */
  | { kind: 'consolidated'; block: L2BlockRef }
  /** The block was built; `reorged` when an unsafe block stood in its place. */
  | { kind: 'built'; block: L2BlockRef; reorged: boolean }
  /** Holocene: the engine refused the block, one with only its deposits stands instead. The channel must be flushed. */
  | { kind: 'replaced'; block: L2BlockRef }
  /** Before Holocene: the engine refused the block and the batch is forgotten. */
  | { kind: 'dropped' }
  /** The pending safe head has moved on since they were derived. */
  | { kind: 'stale' }

/** What moved a head: a block that came in, L1 data, the sequencer's own block, or heads found anew. */
export type HeadsMovedBy = 'payload' | 'derivation' | 'sequencer' | 'reset'

type HeadsListener = (heads: EngineHeads, movedBy: HeadsMovedBy) => void

/** `unconnected`: the block's parent is not the unsafe head. `skipped`: the engine needs no block that stands alone. */
export type InsertOutcome = 'inserted' | 'unconnected' | 'skipped' | 'invalid'

/** Whoever hands attributes over goes on with the next ones while the engine still works on their block. */
export interface AttributesFlow {
  /** Attributes on a block that is about to become safe, if they are at hand: it must not wait for anything. */
  next(block: L2BlockRef): Promise<DerivedAttributes | undefined>
  /** The heads have moved as the outcome says; what `next` returned last is processed now. */
  settled(outcome: AttributesOutcome): void
}

export interface EngineControllerModules {
  engine: Engine
  /** For going on where derivation had come, after a sync of the engine's own. */
  history?: SafeHeadHistory | undefined
  clock?: Clock
  logger: Logger
}

/**
 * The only place that moves a head. Operations that change the engine run one after the other; each leaves heads and
 * engine in agreement or throws an EngineError whose severity says how to go on.
 */
export class EngineController {
  private readonly engine: Engine
  private readonly calls: EngineCalls
  private readonly elSync: ElSync
  private readonly unsafeBlocks: UnsafeBlocks
  private readonly logger: Logger
  private readonly config: RollupConfig
  private readonly lock = new SerialLock()
  private readonly listeners = new Set<HeadsListener>()
  private current: EngineHeads = {
    unsafe: ZERO_L2_REF,
    pendingSafe: ZERO_L2_REF,
    safe: ZERO_L2_REF,
    finalized: ZERO_L2_REF,
  }
  private isReady = false
  /** The unsafe head before L1 data replaced part of its chain (pre-Holocene: restored if the span proves invalid). */
  private backupUnsafe: L2BlockRef | undefined

  constructor(modules: EngineControllerModules, config: RollupConfig, sync: SyncOptions = CONSENSUS_LAYER_SYNC) {
    const { engine, history, clock = systemClock, logger } = modules
    this.engine = engine
    this.logger = logger
    this.config = config
    this.elSync = new ElSync({ engine, history, clock, logger }, config, sync)
    this.calls = new EngineCalls({ engine, elSync: this.elSync, logger }, config)
    this.unsafeBlocks = new UnsafeBlocks(engine)
  }

  /** False until the first reset has set the heads, and after a reset that failed. */
  get ready(): boolean {
    return this.isReady
  }

  /** The engine's first sync by its own network is not over: nothing is derived, and `ready` is false. */
  get syncing(): boolean {
    return this.elSync.isInitial
  }

  /** Blocks are to be given to the engine as they come, by `insertDirectly`. */
  get takesAnyBlock(): boolean {
    return this.elSync.takesAnyBlock
  }

  /** A gap of the unsafe chain is closed by the engine, which is given the block above it by `insertDirectly`. */
  get closesGaps(): boolean {
    return this.elSync.closesGaps
  }

  /** Zero references before the first reset; during a sync of the engine's own, `unsafe` is its target. */
  get heads(): EngineHeads {
    return this.current
  }

  /** Calls back after every change of a head. */
  subscribe(listener: HeadsListener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Puts the engine and the heads where `find` says that derivation starts; nothing else runs meanwhile. */
  reset(find: () => Promise<Pick<EngineHeads, 'unsafe' | 'safe' | 'finalized'>>): Promise<EngineHeads> {
    return this.lock.run(async () => {
      this.isReady = false
      const { unsafe, safe, finalized } = await find()
      this.backupUnsafe = undefined
      this.calls.forget()
      const heads = { unsafe, safe, pendingSafe: safe, finalized }
      await this.calls.sendForkchoice(heads)
      this.isReady = true
      this.move(heads, 'reset')
      return heads
    })
  }

  /** Inserts a block that extends the unsafe chain. Throws when the engine cannot take it now. */
  insertUnsafePayload(envelope: PayloadEnvelope): Promise<InsertOutcome> {
    return this.lock.run(async () => {
      this.checkReady()
      if (envelope.payload.parentHash !== this.current.unsafe.hash) return 'unconnected'
      let block: L2BlockRef
      try {
        block = payloadToL2BlockRef(envelope.payload, this.config)
        if (!(await this.calls.executePayload(envelope, 'child'))) return 'invalid'
      } catch (error) {
        return this.refuseBlock(error, envelope)
      }
      try {
        await this.calls.sendForkchoice({ ...this.current, unsafe: block }, 'temporary')
      } catch (error) {
        // An engine that closes gaps takes blocks without knowing their parent, and says only now that it lost it.
        if (error instanceof EngineError && error.code === 'engine-syncing')
          await this.calls.checkHas(this.current.unsafe)
        throw error
      }
      this.unsafeBlocks.add(envelope)
      this.move({ unsafe: block }, 'payload')
      return 'inserted'
    })
  }

  /**
   * Gives the engine a block above its unsafe head, whatever is between: the engine syncs towards it. With
   * execution-layer sync this begins and ends the engine's first sync, after which heads are to be found by a reset.
   */
  insertDirectly(envelope: PayloadEnvelope): Promise<InsertOutcome> {
    return this.lock.run(async () => {
      if (!this.syncing) this.checkReady()
      if (envelope.payload.blockNumber <= this.current.unsafe.number) return 'unconnected'
      if (!(await this.beginSync())) return 'skipped'
      let block: L2BlockRef
      try {
        block = payloadToL2BlockRef(envelope.payload, this.config)
        if (!(await this.calls.executePayload(envelope, 'distant'))) return 'invalid'
      } catch (error) {
        return this.refuseBlock(error, envelope)
      }
      await this.calls.sendForkchoice({ ...this.current, unsafe: block }, 'temporary')
      // The answer to either call may say that the engine has come to the block: only now are its numbers those of its chain.
      if (this.elSync.isFinishing) await this.finishSync(block)
      else this.move({ unsafe: block }, 'payload')
      return 'inserted'
    })
  }

  /**
   * Consolidates derived attributes with the unsafe chain, or builds their block on the pending safe head. With a flow,
   * building goes on as long as the next attributes are at hand and nobody else waits for the engine: the call that
   * makes a block the engine's head then starts the next one.
   */
  processAttributes(derived: DerivedAttributes, flow?: AttributesFlow): Promise<AttributesOutcome> {
    return this.lock.run(async () => {
      this.checkReady()
      const { pendingSafe, unsafe } = this.current
      if (derived.parent.number !== pendingSafe.number) return settle({ kind: 'stale' })
      if (derived.parent.hash !== pendingSafe.hash) {
        throw new EngineError(
          'engine-state',
          `attributes were derived on ${derived.parent.hash}, not on the pending safe head ${pendingSafe.hash}`,
          { severity: 'reset' },
        )
      }
      if (unsafe.number <= pendingSafe.number) return this.buildDerived(derived, false, flow)
      const existing = await this.unsafeBlocks.read(pendingSafe.number + 1, unsafe.number)
      const mismatch = findMismatch(derived.attributes, pendingSafe.hash, existing, this.config)
      if (mismatch === undefined) {
        const block = payloadToL2BlockRef(existing.payload, this.config)
        this.advanceSafe(block, derived.isLastInSpan)
        return settle({ kind: 'consolidated', block })
      }
      this.logger.warn('L2 reorg: existing unsafe block does not match derived attributes from L1', {
        mismatch,
        block: existing.payload.blockHash,
        number: existing.payload.blockNumber,
        unsafe: unsafe.number,
      })
      this.backupUnsafe = unsafe
      return this.buildDerived(derived, true, flow)
    })

    function settle(outcome: AttributesOutcome): AttributesOutcome {
      flow?.settled(outcome)
      return outcome
    }
  }

  /** Tells the engine where the heads are, if anything changed since it last heard. */
  updateForkchoice(): Promise<void> {
    return this.lock.run(async () => {
      if (!this.isReady || this.calls.knows(this.current)) return
      await this.calls.sendForkchoice(this.current)
    })
  }

  /** Finalized may neither rewind nor pass safe: such a call is logged and has no effect. */
  setFinalized(block: L2BlockRef): void {
    const { finalized, safe } = this.current
    if (block.number < finalized.number || block.number > safe.number) {
      this.logger.error('Ignored finalized block outside of the safe chain', {
        block: block.number,
        finalized: finalized.number,
        safe: safe.number,
      })
      return
    }
    if (block.hash !== finalized.hash) this.move({ finalized: block }, 'derivation')
  }

  /** Starts a block of the sequencer's own on the unsafe head. */
  startBuild(parent: L2BlockRef, attributes: PayloadAttributes): Promise<BuildJob> {
    return this.lock.run(async () => {
      this.checkReady()
      this.checkParent(parent.hash)
      return this.calls.startBlock(parent, this.current, attributes)
    })
  }

  /** Ends the building: the block is complete, but not yet part of the chain. */
  sealBuild(job: BuildJob): Promise<PayloadEnvelope> {
    return fetchBlock(this.engine, job)
  }

  /** Makes a sealed block the unsafe head. Throws `stale-parent` when another block became head meanwhile. */
  insertSealed(envelope: PayloadEnvelope): Promise<L2BlockRef> {
    return this.lock.run(async () => {
      this.checkReady()
      this.checkParent(envelope.payload.parentHash)
      const block = payloadToL2BlockRef(envelope.payload, this.config)
      const valid = await this.calls.executePayload(envelope, 'own')
      if (!valid) throw new EngineError('invalid-payload', `engine refuses the block ${block.hash} that it built`)
      await this.calls.sendForkchoice({ ...this.current, unsafe: block })
      this.unsafeBlocks.add(envelope)
      this.move({ unsafe: block }, 'sequencer')
      return block
    })
  }

  /** True when blocks may be given to the engine for a sync; the first one begins it. */
  private async beginSync(): Promise<boolean> {
    let goesOn: boolean
    try {
      goesOn = await this.elSync.begin()
    } catch (cause) {
      throw new EngineError('engine-call', 'reading the finalized block failed', { cause, severity: 'temporary' })
    }
    // Derivation waits for the end of the sync, and is told by a move of the heads.
    if (!goesOn) this.move({}, 'reset')
    return goesOn
  }

  private async finishSync(unsafe: L2BlockRef): Promise<void> {
    const { safe, finalized } = await this.elSync.headsAfter(unsafe)
    await this.calls.sendForkchoice({ unsafe, safe, pendingSafe: safe, finalized }, 'temporary')
    this.elSync.finish(unsafe, safe)
    this.move({ unsafe, safe, pendingSafe: safe, finalized }, 'payload')
  }

  /** Kept, it would be tried again and again, and the sequencer's other block of this height never. */
  private refuseBlock(error: unknown, { payload }: PayloadEnvelope): 'invalid' {
    if (!isAboutBlock(error)) throw error
    const { blockHash, blockNumber } = payload
    this.logger.warn('Refused block', { block: blockHash, number: blockNumber, problem: describeError(error) })
    return 'invalid'
  }

  /** Resolves with the outcome of the first block; those that the flow adds are settled one by one. */
  private async buildDerived(
    derived: DerivedAttributes,
    reorged: boolean,
    flow: AttributesFlow | undefined,
  ): Promise<AttributesOutcome> {
    let first: AttributesOutcome | undefined
    let current = derived
    let job: BuildJob | undefined
    for (;;) {
      const step = await this.buildNext(current, job, first === undefined && reorged, flow)
      first ??= step.outcome
      flow?.settled(step.outcome)
      if (step.following === undefined) return first
      current = step.following.derived
      job = step.following.job
    }
  }

  private async buildNext(
    derived: DerivedAttributes,
    started: BuildJob | undefined,
    reorged: boolean,
    flow: AttributesFlow | undefined,
  ): Promise<{ outcome: AttributesOutcome; following?: { derived: DerivedAttributes; job: BuildJob } }> {
    try {
      const job = started ?? (await this.startOnParent(derived, derived.attributes))
      const block = await this.calls.finishBlock(job)
      const heads = { ...safeHeadsAfter(this.current, block, derived.isLastInSpan), unsafe: block }
      const next = this.lock.isWaitedFor ? undefined : await flow?.next(block)
      const nextJob = next && (await this.tryStart(block, heads, next.attributes))
      if (nextJob === undefined) await this.calls.sendForkchoice(heads)
      this.moveSafe(heads, derived.isLastInSpan)
      const outcome: AttributesOutcome = { kind: 'built', block, reorged }
      return next === undefined || nextJob === undefined
        ? { outcome }
        : { outcome, following: { derived: next, job: nextJob } }
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'invalid-payload') throw error
      return { outcome: await this.replaceInvalid(derived, error) }
    }
  }

  private async replaceInvalid(derived: DerivedAttributes, error: EngineError): Promise<AttributesOutcome> {
    const { parent, derivedFrom, attributes } = derived
    const fields = { parent: parent.hash, number: parent.number + 1, derivedFrom: derivedFrom.number, err: error }
    if (isDepositsOnly(attributes)) {
      throw new EngineError(
        'invalid-payload',
        `engine refuses block ${parent.number + 1} although it has deposits only`,
        { cause: error, severity: 'critical' },
      )
    }
    if (isForkActive(this.config, 'holocene', derivedFrom.timestamp)) {
      this.logger.warn('Derived block is invalid: replaced by one with only its deposits', fields)
      const block = await this.buildDepositsOnly(derived)
      return { kind: 'replaced', block }
    }
    this.logger.warn('Derived block is invalid: batch dropped', fields)
    this.move({ pendingSafe: this.current.safe }, 'derivation')
    await this.restoreBackupUnsafe()
    return { kind: 'dropped' }
  }

  private async buildDepositsOnly(derived: DerivedAttributes): Promise<L2BlockRef> {
    try {
      const job = await this.startOnParent(derived, withDepositsOnly(derived.attributes))
      const block = await this.calls.finishBlock(job)
      const heads = { ...safeHeadsAfter(this.current, block, derived.isLastInSpan), unsafe: block }
      await this.calls.sendForkchoice(heads)
      this.moveSafe(heads, derived.isLastInSpan)
      return block
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'invalid-payload') throw error
      throw new EngineError(
        'invalid-payload',
        `engine refuses block ${derived.parent.number + 1} even with deposits only`,
        { cause: error, severity: 'critical' },
      )
    }
  }

  private async startOnParent({ parent }: DerivedAttributes, attributes: PayloadAttributes): Promise<BuildJob> {
    const job = await this.calls.startBlock(parent, { ...this.current, unsafe: parent }, attributes)
    // From here on the engine's head is the parent, whatever becomes of the block.
    if (this.current.unsafe.hash !== parent.hash) this.move({ unsafe: parent }, 'derivation')
    return job
  }

  /** Undefined when it did not work, for whatever reason: the attributes are then processed by themselves. */
  private async tryStart(
    parent: L2BlockRef,
    heads: EngineHeads,
    attributes: PayloadAttributes,
  ): Promise<BuildJob | undefined> {
    try {
      return await this.calls.startBlock(parent, heads, attributes)
    } catch (error) {
      this.logger.debug('Could not start the next block with the head', { number: parent.number + 1, err: error })
      return undefined
    }
  }

  private advanceSafe(block: L2BlockRef, isLastInSpan: boolean): void {
    this.moveSafe(safeHeadsAfter(this.current, block, isLastInSpan), isLastInSpan)
  }

  private moveSafe(heads: EngineHeads, isLastInSpan: boolean): void {
    this.move(heads, 'derivation')
    if (isLastInSpan) this.backupUnsafe = undefined
  }

  private async restoreBackupUnsafe(): Promise<void> {
    const backup = this.backupUnsafe
    this.backupUnsafe = undefined
    if (backup === undefined || backup.hash === this.current.unsafe.hash) return
    this.logger.warn('Restoring the unsafe chain that the dropped batch had replaced', { unsafe: backup.number })
    await this.calls.sendForkchoice({ ...this.current, unsafe: backup })
    this.move({ unsafe: backup }, 'derivation')
  }

  private checkReady(): void {
    if (!this.isReady)
      throw new EngineError('engine-not-ready', 'engine heads are not known yet', { severity: 'temporary' })
  }

  private checkParent(parentHash: string): void {
    if (parentHash !== this.current.unsafe.hash) {
      throw new EngineError('stale-parent', `unsafe head is ${this.current.unsafe.hash} and no longer ${parentHash}`, {
        severity: 'temporary',
      })
    }
  }

  private move(changes: Partial<EngineHeads>, movedBy: HeadsMovedBy): void {
    const previous = this.current.unsafe
    this.current = { ...this.current, ...changes }
    const { unsafe } = this.current
    // What was read of the unsafe chain holds as long as blocks are only added to it.
    if (unsafe.hash !== previous.hash && unsafe.parentHash !== previous.hash) this.unsafeBlocks.clear()
    for (const listener of this.listeners) listener(this.current, movedBy)
  }
}

function safeHeadsAfter(heads: EngineHeads, block: L2BlockRef, isLastInSpan: boolean): EngineHeads {
  return { ...heads, pendingSafe: block, ...(isLastInSpan ? { safe: block } : {}) }
}
