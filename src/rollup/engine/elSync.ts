import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BlockId, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import { EngineError } from './engineErrors.ts'
import { blockBehindTip } from './findStartHeads.ts'
import type { Engine, PayloadStatusKind } from './types.ts'

export const SYNC_MODES = ['consensus-layer', 'execution-layer'] as const
export type SyncMode = (typeof SYNC_MODES)[number]

export interface SyncOptions {
  /** `execution-layer`: before derivation starts, the engine syncs to gossiped blocks over its own network. */
  mode: SyncMode
  /**
   * True: gaps of the unsafe chain are requested from peers. False: the engine gets the block above the gap and closes
   * it.
   */
  reqResp: boolean
  /** After the sync, safe and finalized stay this many L2 blocks behind the tip, for derivation to process. */
  offsetBlocks: number
  /** The engine may sync again even if it has a finalized block (reth, erigon). */
  resyncs: boolean
}

export const CONSENSUS_LAYER_SYNC: SyncOptions = {
  mode: 'consensus-layer',
  reqResp: true,
  offsetBlocks: 0,
  resyncs: false,
}

/** The part of the safe-head database that says how far derivation was. */
export interface SafeHeadHistory {
  /** The last recorded safe head. */
  tip(): Promise<BlockId | undefined>
  /**
   * The safe head of the first entry at or above `l2Number`; undefined if there is none, or if all entries are above.
   */
  firstReaching(l2Number: number): Promise<BlockId | undefined>
  /** Removes the entries from this safe head on. */
  truncate(safe: L2BlockRef): Promise<void>
  clear(): Promise<void>
}

/** The stages in op-node's order; `off` with consensus-layer sync. */
type Stage = 'off' | 'waiting' | 'started' | 'finishing' | 'done'

type SyncEngine = Pick<Engine, 'blockRefByLabel' | 'blockRefByHash' | 'blockRefByNumber'>

/**
 * The engine's first sync over its own network: when it begins and ends, what is allowed meanwhile, and where
 * derivation starts afterwards.
 */
export class ElSync {
  private readonly modules: { engine: SyncEngine; history?: SafeHeadHistory | undefined; clock: Clock; logger: Logger }
  private readonly config: RollupConfig
  private readonly options: SyncOptions
  private stage: Stage
  private startedAtMs = 0

  constructor(modules: ElSync['modules'], config: RollupConfig, options: SyncOptions) {
    this.modules = modules
    this.config = config
    this.options = options
    this.stage = options.mode === 'execution-layer' ? 'waiting' : 'off'
  }

  /** True until the first sync has ended. Nothing is derived, and the engine gets no finalized block. */
  get isInitial(): boolean {
    return this.stage === 'waiting' || this.stage === 'started' || this.stage === 'finishing'
  }

  /** The engine has the block that it synced to. Its safe and finalized heads are not set yet. */
  get isFinishing(): boolean {
    return this.stage === 'finishing'
  }

  /** True if blocks are sent to the engine as they arrive, even with gaps. */
  get takesAnyBlock(): boolean {
    return this.options.mode === 'execution-layer' && (this.isInitial || !this.options.reqResp)
  }

  /** True if the engine closes gaps, rather than this node's peers. */
  get closesGaps(): boolean {
    return !this.options.reqResp
  }

  /**
   * Called before the first block is sent to the engine. Returns false if no sync is needed and derivation may begin.
   */
  async begin(): Promise<boolean> {
    if (this.stage !== 'waiting') return true
    const { engine, clock, logger } = this.modules
    const finalized = await engine.blockRefByLabel('finalized')
    if (finalized !== undefined && finalized.hash !== this.config.genesis.l2.hash && !this.options.resyncs) {
      this.stage = 'done'
      logger.info('Engine has a finalized block: skipping execution-layer sync', { finalized: finalized.number })
      return false
    }
    this.stage = 'started'
    this.startedAtMs = clock.now()
    logger.info('Engine starts to sync over its own network')
    return true
  }

  acceptsPayload(status: PayloadStatusKind): boolean {
    if (this.options.mode === 'execution-layer') {
      if (status === 'VALID' && this.stage === 'started') this.stage = 'finishing'
      return status === 'VALID' || status === 'SYNCING' || status === 'ACCEPTED'
    }
    return status === 'VALID' || (!this.options.reqResp && status === 'SYNCING')
  }

  acceptsForkchoice(status: PayloadStatusKind): boolean {
    if (this.options.mode === 'execution-layer') {
      if (status === 'VALID' && this.stage === 'started') this.stage = 'finishing'
      return status === 'VALID' || status === 'SYNCING'
    }
    return status === 'VALID'
  }

  finish(unsafe: L2BlockRef, safe: L2BlockRef): void {
    this.stage = 'done'
    const { clock, logger } = this.modules
    logger.info('Engine has synced', {
      unsafe: unsafe.number,
      safe: safe.number,
      seconds: Math.round((clock.now() - this.startedAtMs) / 1000),
    })
  }

  /**
   * Safe and finalized head for the synced block `tip`. If the safe-head database knows where derivation was, it
   * decides. Otherwise the heads are the offset behind the tip, but not below the engine's own safe and finalized
   * heads.
   */
  async headsAfter(tip: L2BlockRef): Promise<{ safe: L2BlockRef; finalized: L2BlockRef }> {
    const { engine } = this.modules
    try {
      const offset = await blockBehindTip(engine, tip, this.config, this.options.offsetBlocks)
      const present = {
        safe: await engine.blockRefByLabel('safe'),
        finalized: await engine.blockRefByLabel('finalized'),
      }
      const recorded = await this.recordedHead(offset)
      if (recorded !== undefined) {
        // The finalized head stays where it is known to be.
        const finalized = present.finalized ?? (await engine.blockRefByHash(this.config.genesis.l2.hash))
        return { safe: recorded, finalized: lower(recorded, finalized) }
      }
      return { safe: higher(offset, present.safe), finalized: higher(offset, present.finalized) }
    } catch (cause) {
      throw new EngineError('engine-call', "cannot find the safe head after the engine's sync", { cause })
    }
  }

  private async recordedHead(offset: L2BlockRef): Promise<L2BlockRef | undefined> {
    const { engine, history, logger } = this.modules
    const tip = await history?.tip()
    if (history === undefined || tip === undefined) return undefined
    // By number: the engine may have kept the block on a side chain.
    const canonical = async ({ number, hash }: BlockId) => {
      const block = await engine.blockRefByNumber(number)
      return block?.hash === hash ? block : undefined
    }
    const known = await canonical(tip)
    if (known !== undefined) return known
    const reaching = await history.firstReaching(offset.number)
    const anchor = reaching && (await canonical(reaching))
    if (anchor === undefined) {
      logger.warn('Safe-head database belongs to another chain: clearing it', { tip: tip.hash, number: tip.number })
      await history.clear()
      return undefined
    }
    logger.warn('Tip of the safe-head database is not on the synced chain: truncating it', {
      tip: tip.number,
      safe: anchor.number,
    })
    await history.truncate(anchor)
    return anchor
  }
}

function higher(block: L2BlockRef, other: L2BlockRef | undefined): L2BlockRef {
  return other !== undefined && other.number > block.number ? other : block
}

function lower(block: L2BlockRef, other: L2BlockRef | undefined): L2BlockRef {
  return other !== undefined && other.number < block.number ? other : block
}
