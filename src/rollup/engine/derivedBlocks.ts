import type { Logger } from '../../lib/logger.ts'
import type { DerivedAttributes } from '../derive/index.ts'
import { isForkActive } from '../protocol/index.ts'
import type { L2BlockRef, PayloadAttributes, RollupConfig } from '../protocol/types.ts'
import { isDepositsOnly, withDepositsOnly } from './blockBuilding.ts'
import type { EngineCalls } from './engineCalls.ts'
import { EngineError } from './engineErrors.ts'
import type { EngineHeads, HeadsOwner } from './types.ts'

/** The result of processing derived attributes. */
export type AttributesOutcome =
  /** The unsafe chain already contains the block. */
  | { kind: 'consolidated'; block: L2BlockRef }
  /** The block was built. `reorged`: it replaced an unsafe block. */
  | { kind: 'built'; block: L2BlockRef; reorged: boolean }
  /**
   * Holocene: the engine rejected the block, and a block with only its deposits replaced it. The channel must be
   * flushed.
   */
  | { kind: 'replaced'; block: L2BlockRef }
  /** Before Holocene: the engine rejected the block, and its batch was dropped. */
  | { kind: 'dropped' }
  /** The pending safe head has moved since the attributes were derived. */
  | { kind: 'stale' }

interface DerivedBlocksModules {
  calls: EngineCalls
  owner: HeadsOwner
  logger: Logger
}

/**
 * Builds blocks from derived attributes, and replacements for blocks that the engine rejects. The caller must hold the
 * engine lock.
 */
export class DerivedBlocks {
  private readonly calls: EngineCalls
  private readonly owner: HeadsOwner
  private readonly logger: Logger
  private readonly config: RollupConfig
  /**
   * The unsafe head before L1 data replaced part of its chain. Before Holocene it is restored if the span proves
   * invalid.
   */
  private backupUnsafe: L2BlockRef | undefined

  constructor({ calls, owner, logger }: DerivedBlocksModules, config: RollupConfig) {
    this.calls = calls
    this.owner = owner
    this.logger = logger
    this.config = config
  }

  /** Called after the heads have been found again. */
  reset(): void {
    this.backupUnsafe = undefined
  }

  /** Marks a block of the unsafe chain as derived. */
  consolidate(block: L2BlockRef, isLastInSpan: boolean): void {
    this.moveSafe(safeHeadsAfter(this.owner.heads, block, isLastInSpan), isLastInSpan)
  }

  /** Like `build`, but replaces a block of the unsafe chain. */
  replaceUnsafe(derived: DerivedAttributes): Promise<AttributesOutcome> {
    this.backupUnsafe = this.owner.heads.unsafe
    return this.build(derived, true)
  }

  async build(derived: DerivedAttributes, reorged = false): Promise<AttributesOutcome> {
    try {
      return { kind: 'built', block: await this.buildBlock(derived, derived.attributes), reorged }
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'invalid-payload') throw error
      return this.replaceInvalid(derived, error)
    }
  }

  /** Builds the block and makes it the head. */
  private async buildBlock(derived: DerivedAttributes, attributes: PayloadAttributes): Promise<L2BlockRef> {
    const { parent, isLastInSpan } = derived
    const job = await this.calls.startBlock(parent, { ...this.owner.heads, unsafe: parent }, attributes)
    // From here on the engine's head is the parent, even if building fails.
    if (this.owner.heads.unsafe.hash !== parent.hash) this.owner.move({ unsafe: parent })
    const built = await this.calls.finishBlock(job)
    const { block } = built
    await this.calls.insert(built)
    const heads = { ...safeHeadsAfter(this.owner.heads, block, isLastInSpan), unsafe: block }
    await this.calls.sendForkchoice(heads)
    this.moveSafe(heads, isLastInSpan)
    return block
  }

  private async replaceInvalid(derived: DerivedAttributes, error: EngineError): Promise<AttributesOutcome> {
    const { parent, derivedFrom, attributes } = derived
    const fields = { parent: parent.hash, number: parent.number + 1, derivedFrom: derivedFrom.number, err: error }
    if (isDepositsOnly(attributes)) {
      throw new EngineError(
        'invalid-payload',
        `engine rejects block ${parent.number + 1} although it contains only deposits`,
        { cause: error, severity: 'critical' },
      )
    }
    if (isForkActive(this.config, 'holocene', derivedFrom.timestamp)) {
      this.logger.warn('Derived block is invalid: replacing it by a block with only its deposits', fields)
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
      return await this.buildBlock(derived, withDepositsOnly(derived.attributes))
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'invalid-payload') throw error
      throw new EngineError(
        'invalid-payload',
        `engine rejects block ${derived.parent.number + 1} even with only deposits`,
        { cause: error, severity: 'critical' },
      )
    }
  }

  private moveSafe(heads: EngineHeads, isLastInSpan: boolean): void {
    this.owner.move(heads)
    if (isLastInSpan) this.backupUnsafe = undefined
  }

  private async restoreBackupUnsafe(): Promise<void> {
    const backup = this.backupUnsafe
    this.backupUnsafe = undefined
    if (backup === undefined || backup.hash === this.owner.heads.unsafe.hash) return
    this.logger.warn('Restoring the unsafe chain that the dropped batch replaced', { unsafe: backup.number })
    await this.calls.sendForkchoice({ ...this.owner.heads, unsafe: backup })
    this.owner.move({ unsafe: backup })
  }
}

function safeHeadsAfter(heads: EngineHeads, block: L2BlockRef, isLastInSpan: boolean): EngineHeads {
  return { ...heads, pendingSafe: block, ...(isLastInSpan ? { safe: block } : {}) }
}
