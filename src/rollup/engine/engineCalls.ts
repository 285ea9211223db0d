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

/** Built by the engine itself, a child of its head that came in, or a block whose parent it may not have. */
export type BlockKind = 'own' | 'child' | 'distant'

/** As it came from the engine. */
export interface BuiltBlock {
  envelope: PayloadEnvelope
  block: L2BlockRef
}

/** Calls of the Engine API with what their answers mean; remembers which heads the engine took last. */
export class EngineCalls {
  private readonly engine: Engine
  private readonly elSync: ElSync
  private readonly config: RollupConfig
  private readonly logger: Logger
  /** Forkchoice state that the engine accepted last. */
  private accepted: string | undefined

  constructor(modules: { engine: Engine; elSync: ElSync; logger: Logger }, config: RollupConfig) {
    this.engine = modules.engine
    this.elSync = modules.elSync
    this.logger = modules.logger
    this.config = config
  }

  /** Whether these heads are what the engine heard last. */
  knows(heads: EngineHeads): boolean {
    return keyOf(this.stateOf(heads)) === this.accepted
  }

  /** Nothing is known of what the engine's heads are: it may have been restarted. */
  forget(): void {
    this.accepted = undefined
  }

  /** False when the engine finds the block invalid. */
  async executePayload(envelope: PayloadEnvelope, kind: BlockKind): Promise<boolean> {
    const { blockHash: block, blockNumber: number, transactions } = envelope.payload
    const problem = checkTransactionOrder(transactions)
    if (problem !== undefined) {
      this.logger.warn('Refused block', { block, number, problem })
      return false
    }
    return this.isTaken(await inserting(this.engine.newPayload(envelope)), envelope, kind)
  }

  private async isTaken(status: PayloadStatus, { payload }: PayloadEnvelope, kind: BlockKind): Promise<boolean> {
    const { blockHash: block, blockNumber: number, parentHash } = payload
    if (status.status === 'INVALID' || status.status === 'INVALID_BLOCK_HASH') {
      this.logger.warn('Engine refuses block', { block, number, problem: status.validationError ?? status.status })
      return false
    }
    if (kind === 'own' ? status.status === 'VALID' : this.elSync.acceptsPayload(status.status)) return true
    // The forkchoice update that follows makes an engine with a network of its own fetch what is missing.
    if (kind === 'distant' && (status.status === 'SYNCING' || status.status === 'ACCEPTED')) return true
    if (kind !== 'distant') await this.checkHas({ hash: parentHash, number: number - 1 })
    throw new EngineError('engine-syncing', `engine answers ${status.status} to block ${number}`, {
      severity: 'temporary',
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

  /** The finished block of a job, which the engine does not have before it is given it. */
  async finishBlock(job: BuildJob): Promise<BuiltBlock> {
    const envelope = await fetchBlock(this.engine, job)
    return { envelope, block: payloadToL2BlockRef(envelope.payload, this.config) }
  }

  /** Throws `invalid-payload` when the engine refuses what it built. */
  async insert({ envelope, block }: BuiltBlock): Promise<void> {
    if (await this.executePayload(envelope, 'own')) return
    throw new EngineError('invalid-payload', `engine refuses the block ${block.hash} that it built`)
  }

  /**
   * Tells the engine of these heads. One that it does not take as they are asks for `otherwise`: a reset, where they are
   * heads of ours that it should know.
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
        { severity: otherwise },
      )
    }
    this.accepted = keyOf(state)
  }

  /**
   * An engine that says SYNCING to a child of a head of ours is busy, or has lost that head in a restart. Only then are
   * the heads to be looked up again: a reset would not help an engine that is busy.
   */
  async checkHas(head: BlockId): Promise<void> {
    const found = await this.blockByNumber(head.number)
    if (found?.hash === head.hash) return
    throw new EngineError(
      'engine-state',
      `engine has lost block ${head.number} (${head.hash}), on which the next one is to stand`,
      { severity: 'reset', details: { found: found?.hash ?? 'none' } },
    )
  }

  /** A block of the engine's chain; undefined when there is none of this number. */
  async blockByNumber(number: number): Promise<L2BlockRef | undefined> {
    try {
      return await this.engine.blockRefByNumber(number)
    } catch (cause) {
      throw new EngineError('engine-call', 'reading a head of the engine failed', { cause, severity: 'temporary' })
    }
  }

  /** During its first sync the engine is told of no finalized block: it may be below what it is about to download. */
  private stateOf(heads: EngineHeads): ForkchoiceState {
    return {
      headBlockHash: heads.unsafe.hash,
      safeBlockHash: heads.safe.hash,
      finalizedBlockHash: this.elSync.isInitial && !this.elSync.isFinishing ? ZERO_HASH : heads.finalized.hash,
    }
  }
}

async function inserting<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    throw new EngineError('engine-call', 'inserting a block failed', { cause, severity: 'temporary' })
  }
}

function keyOf(state: ForkchoiceState): string {
  return `${state.headBlockHash} ${state.safeBlockHash} ${state.finalizedBlockHash}`
}
