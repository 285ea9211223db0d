import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BlockId, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import { EngineError } from './engineErrors.ts'
import { blockBehindTip } from './findStartHeads.ts'
import type { Engine, PayloadStatusKind } from './types.ts'

export const SYNC_MODES = ['consensus-layer', 'execution-layer'] as const
export type SyncMode = (typeof SYNC_MODES)[number]

export interface SyncOptions {
  /** `execution-layer`: the engine syncs by its own network towards gossiped blocks, before anything is derived. */
  mode: SyncMode
  /** Gaps of the unsafe chain are asked for from peers; false: the engine is given the block above and closes the gap. */
  reqResp: boolean
  /** L2 blocks that safe and finalized are left behind the tip that was synced to, for derivation to go over. */
  offsetBlocks: number
  /** The engine may sync again although it has a finalized block (reth, erigon). */
  resyncs: boolean
}

export const CONSENSUS_LAYER_SYNC: SyncOptions = {
  mode: 'consensus-layer',
  reqResp: true,
  offsetBlocks: 0,
  resyncs: false,
}

/** What the safe-head database knows, for going on from where derivation had come. */
export interface SafeHeadHistory {
  /** The last safe head that was recorded. */
  tip(): Promise<BlockId | undefined>
  /** The safe head of the first entry that reached `l2Number`; undefined when none did, or all entries are above. */
  firstReaching(l2Number: number): Promise<BlockId | undefined>
  /** Forgets what was recorded from this safe head on. */
  truncate(safe: L2BlockRef): Promise<void>
  clear(): Promise<void>
}

/** The order in which op-node goes through them; `off` with consensus-layer sync. */
type Stage = 'off' | 'waiting' | 'started' | 'finishing' | 'done'

type SyncEngine = Pick<Engine, 'blockRefByLabel' | 'blockRefByHash' | 'blockRefByNumber'>

/** The engine's first sync by its own network: when it begins and ends, what it allows, and where derivation starts after it. */
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

  /** Until then nothing is derived, and the engine is told of no finalized block. */
  get isInitial(): boolean {
    return this.stage === 'waiting' || this.stage === 'started' || this.stage === 'finishing'
  }

  /** The engine has the block that it synced to; its safe and finalized head are still to be told. */
  get isFinishing(): boolean {
    return this.stage === 'finishing'
  }

  /** Blocks are given to the engine as they come, without regard to gaps. */
  get takesAnyBlock(): boolean {
    return this.options.mode === 'execution-layer' && (this.isInitial || !this.options.reqResp)
  }

  /** Whether the engine closes gaps, rather than peers of this node. */
  get closesGaps(): boolean {
    return !this.options.reqResp
  }

  /** Before the first block is given to the engine. False: there is nothing to sync, and derivation may begin. */
  async begin(): Promise<boolean> {
    if (this.stage !== 'waiting') return true
    const { engine, clock, logger } = this.modules
    const finalized = await engine.blockRefByLabel('finalized')
    if (finalized !== undefined && finalized.hash !== this.config.genesis.l2.hash && !this.options.resyncs) {
      this.stage = 'done'
      logger.info('Engine has a finalized block: it needs no sync of its own', { finalized: finalized.number })
      return false
    }
    this.stage = 'started'
    this.startedAtMs = clock.now()
    logger.info('Engine starts to sync by its own network')
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
   * Safe and finalized head with the synced block `tip`: where the safe-head database knows that derivation had come,
   * else the offset behind the tip, but not below what the engine calls safe and finalized.
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
        // Finalized follows no further than it is known to be.
        const finalized = present.finalized ?? (await engine.blockRefByHash(this.config.genesis.l2.hash))
        return { safe: recorded, finalized: lower(recorded, finalized) }
      }
      return { safe: higher(offset, present.safe), finalized: higher(offset, present.finalized) }
    } catch (cause) {
      throw new EngineError('engine-call', 'cannot find the safe head after the sync of the engine', {
        cause,
        severity: 'temporary',
      })
    }
  }

  private async recordedHead(offset: L2BlockRef): Promise<L2BlockRef | undefined> {
    const { engine, history, logger } = this.modules
    const tip = await history?.tip()
    if (history === undefined || tip === undefined) return undefined
    const known = await engine.blockRefByHash(tip.hash)
    if (known !== undefined) return known
    const reaching = await history.firstReaching(offset.number)
    const anchor = reaching === undefined ? undefined : await engine.blockRefByHash(reaching.hash)
    if (anchor === undefined) {
      logger.warn('Safe-head database is of another chain: cleared', { tip: tip.hash, number: tip.number })
      await history.clear()
      return undefined
    }
    logger.warn('Tip of the safe-head database is not on the synced chain: going back', {
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
