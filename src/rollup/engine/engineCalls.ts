import type { Logger } from '../../lib/logger.ts'
import { payloadToL2BlockRef } from '../protocol/index.ts'
import {
  type BlockId,
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_HASH,
} from '../protocol/types.ts'
import { type BuildJob, checkTransactionOrder, fetchBlock, startBlock } from './blockBuilding.ts'
import type { ElSync } from './elSync.ts'
import { EngineError, forkchoiceError } from './engineErrors.ts'
import type { Engine, EngineHeads, ForkchoiceState, PayloadStatus } from './types.ts'

/** `own`: built by the engine. `child`: a received child of the head. `distant`: its parent may be missing. */
export type BlockKind = 'own' | 'child' | 'distant'

/** A block in the form that the engine returned. */
export interface BuiltBlock {
  envelope: PayloadEnvelope
  block: L2BlockRef
}

/** Engine API calls with an interpretation of their results. Tracks the heads that the engine accepted last. */
export class EngineCalls {
  private readonly engine: Engine
  private readonly elSync: ElSync
  private readonly config: RollupConfig
  private readonly logger: Logger
  /** The forkchoice state that the engine accepted last. */
  private accepted: string | undefined

  constructor(modules: { engine: Engine; elSync: ElSync; logger: Logger }, config: RollupConfig) {
    this.engine = modules.engine
    this.elSync = modules.elSync
    this.logger = modules.logger
    this.config = config
  }

  /** Whether the engine already has these heads. */
  knows(heads: EngineHeads): boolean {
    return keyOf(this.stateOf(heads)) === this.accepted
  }

  /** Drops the known state, because the engine may have been restarted. */
  forget(): void {
    this.accepted = undefined
  }

  /** Returns false if the block is invalid. */
  async executePayload(envelope: PayloadEnvelope, kind: BlockKind): Promise<boolean> {
    const { blockHash: block, blockNumber: number, parentHash, transactions } = envelope.payload
    const problem = checkTransactionOrder(transactions)
    if (problem !== undefined) {
      this.logger.warn('Rejected block', { block, number, problem })
      return false
    }
    let status: PayloadStatus
    try {
      status = await this.engine.newPayload(envelope)
    } catch (cause) {
      throw new EngineError('engine-call', 'inserting a block failed', { cause })
    }
    if (status.status === 'INVALID' || status.status === 'INVALID_BLOCK_HASH') {
      this.logger.warn('Engine rejects block', { block, number, problem: status.validationError ?? status.status })
      return false
    }
    if (kind === 'own' ? status.status === 'VALID' : this.elSync.acceptsPayload(status.status)) return true
    // The following forkchoice update makes the engine fetch the missing blocks over its own network.
    if (kind === 'distant' && (status.status === 'SYNCING' || status.status === 'ACCEPTED')) return true
    if (kind !== 'distant') await this.checkHas({ hash: parentHash, number: number - 1 })
    throw new EngineError('engine-syncing', `engine answers ${status.status} to block ${number}`, {
      details: { block },
    })
  }

  /** Makes `parent` the engine's head and starts a block on it. */
  async startBlock(parent: L2BlockRef, heads: EngineHeads, attributes: PayloadAttributes): Promise<BuildJob> {
    const state = this.stateOf(heads)
    try {
      const job = await startBlock(this.engine, state, parent, attributes)
      this.accepted = keyOf(state)
      return job
    } catch (error) {
      if (error instanceof EngineError && error.code === 'engine-syncing') await this.checkHas(parent)
      throw error
    }
  }

  /** The finished block of a job. It is not part of the engine's chain until it is inserted. */
  async finishBlock(job: BuildJob): Promise<BuiltBlock> {
    const envelope = await fetchBlock(this.engine, job)
    return { envelope, block: payloadToL2BlockRef(envelope.payload, this.config) }
  }

  /** Throws `invalid-payload` if the engine rejects its own block. */
  async insert({ envelope, block }: BuiltBlock): Promise<void> {
    if (await this.executePayload(envelope, 'own')) return
    throw new EngineError('invalid-payload', `engine rejects the block ${block.hash} that it built`)
  }

  /**
   * Sends the heads to the engine. If the engine does not accept them, the error has the severity `otherwise`: `reset`
   * for our own heads, which the engine should know.
   */
  async sendForkchoice(heads: EngineHeads, otherwise: 'reset' | 'temporary' = 'reset'): Promise<void> {
    const state = this.stateOf(heads)
    let status: PayloadStatus
    try {
      status = (await this.engine.forkchoiceUpdated(state)).payloadStatus
    } catch (error) {
      throw forkchoiceError(error)
    }
    if (!this.elSync.acceptsForkchoice(status.status)) {
      const problem = status.validationError === undefined ? '' : `: ${status.validationError}`
      throw new EngineError(
        otherwise === 'reset' ? 'engine-state' : 'engine-syncing',
        `engine answers ${status.status} to unsafe head ${heads.unsafe.number}${problem}`,
      )
    }
    this.accepted = keyOf(state)
  }

  /**
   * An engine that returns SYNCING for a child of our head is either busy, or has lost that head in a restart. Only in
   * the second case must the heads be found again: a reset does not help a busy engine.
   */
  async checkHas(head: BlockId): Promise<void> {
    const found = await this.blockByNumber(head.number)
    if (found?.hash === head.hash) return
    throw new EngineError(
      'engine-state',
      `engine has lost block ${head.number} (${head.hash}), the parent of the next block`,
      { details: { found: found?.hash ?? 'none' } },
    )
  }

  /** A block of the engine's chain; undefined if the number does not exist. */
  async blockByNumber(number: number): Promise<L2BlockRef | undefined> {
    try {
      return await this.engine.blockRefByNumber(number)
    } catch (cause) {
      throw new EngineError('engine-call', 'reading a head of the engine failed', { cause })
    }
  }

  /**
   * During its first sync the engine gets no finalized block, because that block may be below the blocks to download.
   */
  private stateOf(heads: EngineHeads): ForkchoiceState {
    return {
      headBlockHash: heads.unsafe.hash,
      safeBlockHash: heads.safe.hash,
      finalizedBlockHash: this.elSync.isInitial && !this.elSync.isFinishing ? ZERO_HASH : heads.finalized.hash,
    }
  }
}

function keyOf(state: ForkchoiceState): string {
  return `${state.headBlockHash} ${state.safeBlockHash} ${state.finalizedBlockHash}`
}
