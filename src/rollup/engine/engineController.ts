import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { SerialLock } from '../../lib/serialLock.ts'
import { isForkActive, payloadToL2BlockRef } from '../protocol/index.ts'
import {
  type BlockId,
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_L2_REF,
} from '../protocol/types.ts'
import {
  type BuildJob,
  checkTransactionOrder,
  fetchBlock,
  isDepositsOnly,
  startBlock,
  withDepositsOnly,
} from './blockBuilding.ts'
import { EngineError, forkchoiceError, isAboutBlock } from './engineErrors.ts'
import { findMismatch } from './matchAttributes.ts'
import type { DerivedAttributes, Engine, EngineHeads, ForkchoiceState } from './types.ts'

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

/** `unconnected`: the block's parent is not the unsafe head. */
export type InsertOutcome = 'inserted' | 'unconnected' | 'invalid'

/**
 * The only place that moves a head. Operations that change the engine run one after the other; each leaves heads and
 * engine in agreement or throws an EngineError whose severity says how to go on.
 */
export class EngineController {
  private readonly engine: Engine
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
  /** Forkchoice state that the engine accepted last. */
  private accepted: string | undefined

  constructor(modules: { engine: Engine; logger: Logger }, config: RollupConfig) {
    this.engine = modules.engine
    this.logger = modules.logger
    this.config = config
  }

  /** False until the first reset has set the heads, and after a reset that failed. */
  get ready(): boolean {
    return this.isReady
  }

  /** Zero references while not ready. */
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
      this.accepted = undefined
      const heads = { unsafe, safe, pendingSafe: safe, finalized }
      await this.sendForkchoice(heads)
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
        if (!(await this.executePayload(envelope))) return 'invalid'
      } catch (error) {
        // Kept, it would be tried again and again, and the sequencer's other block of this height never.
        if (!isAboutBlock(error)) throw error
        const { blockHash, blockNumber } = envelope.payload
        this.logger.warn('Refused block', { block: blockHash, number: blockNumber, problem: describeError(error) })
        return 'invalid'
      }
      await this.sendForkchoice({ ...this.current, unsafe: block })
      this.move({ unsafe: block }, 'payload')
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
          { severity: 'reset' },
        )
      }
      if (unsafe.number <= pendingSafe.number) return this.buildDerived(derived, false)
      const existing = await this.readUnsafeBlock(pendingSafe.number + 1)
      const mismatch = findMismatch(derived.attributes, pendingSafe.hash, existing, this.config)
      if (mismatch === undefined) {
        const block = payloadToL2BlockRef(existing.payload, this.config)
        this.advanceSafe(block, derived.isLastInSpan)
        return { kind: 'consolidated', block }
      }
      this.logger.warn('L2 reorg: existing unsafe block does not match derived attributes from L1', {
        mismatch,
        block: existing.payload.blockHash,
        number: existing.payload.blockNumber,
        unsafe: unsafe.number,
      })
      this.backupUnsafe = unsafe
      return this.buildDerived(derived, true)
    })
  }

  /** Tells the engine where the heads are, if anything changed since it last heard. */
  updateForkchoice(): Promise<void> {
    return this.lock.run(async () => {
      if (!this.isReady || forkchoiceKey(this.current) === this.accepted) return
      await this.sendForkchoice(this.current)
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
      const job = await this.startOn(parent, this.current, attributes)
      this.accepted = forkchoiceKey(this.current)
      return job
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
      const valid = await this.executePayload(envelope)
      if (!valid) throw new EngineError('invalid-payload', `engine refuses the block ${block.hash} that it built`)
      await this.sendForkchoice({ ...this.current, unsafe: block })
      this.move({ unsafe: block }, 'sequencer')
      return block
    })
  }

  private async buildDerived(derived: DerivedAttributes, reorged: boolean): Promise<AttributesOutcome> {
    try {
      const block = await this.buildBlock(derived, derived.attributes)
      return { kind: 'built', block, reorged }
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'invalid-payload') throw error
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
  }

  private async buildDepositsOnly(derived: DerivedAttributes): Promise<L2BlockRef> {
    try {
      return await this.buildBlock(derived, withDepositsOnly(derived.attributes))
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'invalid-payload') throw error
      throw new EngineError(
        'invalid-payload',
        `engine refuses block ${derived.parent.number + 1} even with deposits only`,
        { cause: error, severity: 'critical' },
      )
    }
  }

  private async buildBlock(derived: DerivedAttributes, attributes: PayloadAttributes): Promise<L2BlockRef> {
    const { parent } = derived
    const onParent = { ...this.current, unsafe: parent }
    const job = await this.startOn(parent, onParent, attributes)
    // From here on the engine's head is the parent, whatever becomes of the block.
    this.accepted = forkchoiceKey(onParent)
    if (this.current.unsafe.hash !== parent.hash) this.move({ unsafe: parent }, 'derivation')
    const envelope = await fetchBlock(this.engine, job)
    const valid = await this.executePayload(envelope)
    if (!valid)
      throw new EngineError('invalid-payload', `engine refuses the block ${envelope.payload.blockHash} that it built`)
    const block = payloadToL2BlockRef(envelope.payload, this.config)
    const heads = safeHeadsAfter(this.current, block, derived.isLastInSpan)
    await this.sendForkchoice({ ...heads, unsafe: block })
    this.move({ ...heads, unsafe: block }, 'derivation')
    if (derived.isLastInSpan) this.backupUnsafe = undefined
    return block
  }

  private advanceSafe(block: L2BlockRef, isLastInSpan: boolean): void {
    this.move(safeHeadsAfter(this.current, block, isLastInSpan), 'derivation')
    if (isLastInSpan) this.backupUnsafe = undefined
  }

  private async restoreBackupUnsafe(): Promise<void> {
    const backup = this.backupUnsafe
    this.backupUnsafe = undefined
    if (backup === undefined || backup.hash === this.current.unsafe.hash) return
    this.logger.warn('Restoring the unsafe chain that the dropped batch had replaced', { unsafe: backup.number })
    await this.sendForkchoice({ ...this.current, unsafe: backup })
    this.move({ unsafe: backup }, 'derivation')
  }

  private async readUnsafeBlock(number: number): Promise<PayloadEnvelope> {
    const block = await this.engine.payloadByNumber(number)
    if (block === undefined) {
      throw new EngineError('engine-state', `engine does not have block ${number} of its unsafe chain`, {
        severity: 'reset',
      })
    }
    return block
  }

  /** False when the engine finds the block invalid. */
  private async executePayload(envelope: PayloadEnvelope): Promise<boolean> {
    const problem = checkTransactionOrder(envelope.payload.transactions)
    if (problem !== undefined) {
      this.logger.warn('Refused block', {
        block: envelope.payload.blockHash,
        number: envelope.payload.blockNumber,
        problem,
      })
      return false
    }
    let status: Awaited<ReturnType<Engine['newPayload']>>
    try {
      status = await this.engine.newPayload(envelope)
    } catch (cause) {
      throw new EngineError('engine-call', 'inserting a block failed', { cause, severity: 'temporary' })
    }
    if (status.status === 'VALID') return true
    const fields = { block: envelope.payload.blockHash, number: envelope.payload.blockNumber, status: status.status }
    if (status.status === 'INVALID' || status.status === 'INVALID_BLOCK_HASH') {
      this.logger.warn('Engine refuses block', { ...fields, problem: status.validationError })
      return false
    }
    const { parentHash, blockNumber } = envelope.payload
    await this.checkHasParent({ hash: parentHash, number: blockNumber - 1 })
    throw new EngineError('engine-syncing', `engine answers ${status.status} to block ${blockNumber}`, {
      severity: 'temporary',
      details: fields,
    })
  }

  private async startOn(parent: L2BlockRef, heads: EngineHeads, attributes: PayloadAttributes): Promise<BuildJob> {
    try {
      return await startBlock(this.engine, forkchoiceState(heads), parent, attributes)
    } catch (error) {
      if (error instanceof EngineError && error.code === 'engine-syncing') await this.checkHasParent(parent)
      throw error
    }
  }

  /**
   * An engine that says SYNCING to a child of a head of ours is busy, or has lost that head in a restart. Only then are
   * the heads to be looked up again: a reset would not help an engine that is busy.
   */
  private async checkHasParent(parent: BlockId): Promise<void> {
    let found: L2BlockRef | undefined
    try {
      found = await this.engine.blockRefByNumber(parent.number)
    } catch (cause) {
      throw new EngineError('engine-call', 'reading a head of the engine failed', { cause, severity: 'temporary' })
    }
    if (found?.hash === parent.hash) return
    throw new EngineError(
      'engine-state',
      `engine has lost block ${parent.number} (${parent.hash}), on which the next one is to stand`,
      { severity: 'reset', details: { found: found?.hash ?? 'none' } },
    )
  }

  private async sendForkchoice(heads: EngineHeads): Promise<void> {
    let status: Awaited<ReturnType<Engine['forkchoiceUpdated']>>['payloadStatus']
    try {
      status = (await this.engine.forkchoiceUpdated(forkchoiceState(heads))).payloadStatus
    } catch (error) {
      throw forkchoiceError(error)
    }
    if (status.status !== 'VALID') {
      throw new EngineError(
        'engine-state',
        `engine answers ${status.status} to unsafe head ${heads.unsafe.number}${status.validationError === undefined ? '' : `: ${status.validationError}`}`,
        { severity: 'reset' },
      )
    }
    this.accepted = forkchoiceKey(heads)
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
    this.current = { ...this.current, ...changes }
    for (const listener of this.listeners) listener(this.current, movedBy)
  }
}

function safeHeadsAfter(heads: EngineHeads, block: L2BlockRef, isLastInSpan: boolean): EngineHeads {
  return { ...heads, pendingSafe: block, ...(isLastInSpan ? { safe: block } : {}) }
}

function forkchoiceState(heads: EngineHeads): ForkchoiceState {
  return {
    headBlockHash: heads.unsafe.hash,
    safeBlockHash: heads.safe.hash,
    finalizedBlockHash: heads.finalized.hash,
  }
}

function forkchoiceKey(heads: EngineHeads): string {
  return `${heads.unsafe.hash} ${heads.safe.hash} ${heads.finalized.hash}`
}
