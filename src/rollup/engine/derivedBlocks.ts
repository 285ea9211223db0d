import type { Logger } from '../../lib/logger.ts'
import { isForkActive } from '../protocol/index.ts'
import type { L2BlockRef, PayloadAttributes, RollupConfig } from '../protocol/types.ts'
import { type BuildJob, isDepositsOnly, withDepositsOnly } from './blockBuilding.ts'
import type { EngineCalls } from './engineCalls.ts'
import { EngineError } from './engineErrors.ts'
import type { DerivedAttributes, EngineHeads } from './types.ts'

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

/** Whoever hands attributes over goes on with the next ones while the engine still works on their block. */
export interface AttributesFlow {
  /**
   * Attributes on a block that the engine has built, if they are at hand: it must not wait for anything. Should the engine refuse the
   * block after all, a reset is asked for.
   */
  next(block: L2BlockRef): Promise<DerivedAttributes | undefined>
  /** The heads have moved as the outcome says; what `next` returned last is processed now. */
  settled(outcome: AttributesOutcome): void
}

/** The heads, as their only owner lets them be moved. */
interface HeadsOwner {
  readonly heads: EngineHeads
  /** Somebody else waits for the engine. */
  readonly isWaitedFor: boolean
  move(changes: Partial<EngineHeads>): void
}

interface DerivedBlocksModules {
  calls: EngineCalls
  owner: HeadsOwner
  logger: Logger
}

/** Makes blocks of derived attributes, and what stands in for those that the engine refuses. Its caller has the engine for itself. */
export class DerivedBlocks {
  private readonly calls: EngineCalls
  private readonly owner: HeadsOwner
  private readonly logger: Logger
  private readonly config: RollupConfig
  /** The unsafe head before L1 data replaced part of its chain (pre-Holocene: restored if the span proves invalid). */
  private backupUnsafe: L2BlockRef | undefined
  /** Of the block that the flow was asked to go on from, while it is not the head. */
  private aheadOf: number | undefined
  /** Up to this number the flow goes on from no block before the engine has it: it has refused that one. */
  private cautiousUpTo = 0

  constructor({ calls, owner, logger }: DerivedBlocksModules, config: RollupConfig) {
    this.calls = calls
    this.owner = owner
    this.logger = logger
    this.config = config
  }

  /** The heads have been found anew. */
  reset(): void {
    this.backupUnsafe = undefined
    this.aheadOf = undefined
  }

  /** The unsafe chain already has the block. */
  consolidate(block: L2BlockRef, isLastInSpan: boolean): void {
    this.moveSafe(safeHeadsAfter(this.owner.heads, block, isLastInSpan), isLastInSpan)
  }

  /** As `build`, in the place of a block of the unsafe chain. */
  replaceUnsafe(derived: DerivedAttributes, flow?: AttributesFlow): Promise<AttributesOutcome> {
    this.backupUnsafe = this.owner.heads.unsafe
    return this.build(derived, flow, true)
  }

  /** Resolves with the outcome of the first block; those that the flow adds are settled one by one. */
  async build(derived: DerivedAttributes, flow?: AttributesFlow, reorged = false): Promise<AttributesOutcome> {
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
      const built = await this.calls.finishBlock(job)
      const { block } = built
      const heads = { ...safeHeadsAfter(this.owner.heads, block, derived.isLastInSpan), unsafe: block }
      const next = await this.goAhead(block, flow)
      const nextJob = next && (await this.calls.insertAndStart(built, heads, next.attributes))
      if (next === undefined) await this.calls.insert(built)
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

  /** The flow's next attributes, asked for before the engine is given the block, so that one request can do both. */
  private async goAhead(block: L2BlockRef, flow: AttributesFlow | undefined): Promise<DerivedAttributes | undefined> {
    if (flow === undefined || this.owner.isWaitedFor || block.number <= this.cautiousUpTo) return undefined
    this.aheadOf = block.number
    return flow.next(block)
  }

  private async replaceInvalid(derived: DerivedAttributes, error: EngineError): Promise<AttributesOutcome> {
    const { parent, derivedFrom, attributes } = derived
    if (this.aheadOf === parent.number + 1) {
      // What was read on the block must be forgotten, and with it what the rules would keep: derivation comes here again, more slowly.
      this.cautiousUpTo = this.aheadOf
      const message = `engine refuses block ${this.aheadOf} that it built, and on which derivation has gone on`
      throw new EngineError('engine-state', message, { cause: error, severity: 'reset' })
    }
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
    this.owner.move({ pendingSafe: this.owner.heads.safe })
    await this.restoreBackupUnsafe()
    return { kind: 'dropped' }
  }

  private async buildDepositsOnly(derived: DerivedAttributes): Promise<L2BlockRef> {
    try {
      const job = await this.startOnParent(derived, withDepositsOnly(derived.attributes))
      const built = await this.calls.finishBlock(job)
      const { block } = built
      await this.calls.insert(built)
      const heads = { ...safeHeadsAfter(this.owner.heads, block, derived.isLastInSpan), unsafe: block }
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
    const job = await this.calls.startBlock(parent, { ...this.owner.heads, unsafe: parent }, attributes)
    // From here on the engine's head is the parent, whatever becomes of the block.
    if (this.owner.heads.unsafe.hash !== parent.hash) this.owner.move({ unsafe: parent })
    return job
  }

  private moveSafe(heads: EngineHeads, isLastInSpan: boolean): void {
    this.owner.move(heads)
    this.aheadOf = undefined
    if (isLastInSpan) this.backupUnsafe = undefined
  }

  private async restoreBackupUnsafe(): Promise<void> {
    const backup = this.backupUnsafe
    this.backupUnsafe = undefined
    if (backup === undefined || backup.hash === this.owner.heads.unsafe.hash) return
    this.logger.warn('Restoring the unsafe chain that the dropped batch had replaced', { unsafe: backup.number })
    await this.calls.sendForkchoice({ ...this.owner.heads, unsafe: backup })
    this.owner.move({ unsafe: backup })
  }
}

function safeHeadsAfter(heads: EngineHeads, block: L2BlockRef, isLastInSpan: boolean): EngineHeads {
  return { ...heads, pendingSafe: block, ...(isLastInSpan ? { safe: block } : {}) }
}
