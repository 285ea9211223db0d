import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import { createStartWalk, type L1Lookup } from './startWalk.ts'
import type { Engine, EngineHeads } from './types.ts'

/**
 * `l2-chain` is critical: the engine has another chain. The other codes may resolve by themselves or by the operator,
 * so the search is repeated.
 *
 * - `l1-chain`: L1 is not the L1 of this rollup.
 * - `l2-walk`: a block on the way back is missing.
 * - `finalized-reorg`: the engine's chain does not contain its finalized block.
 * - `reorg-too-deep`: the L1 reorg reaches back too far.
 */
export class StartHeadsError extends DeviumError<
  'l1-chain' | 'l2-chain' | 'l2-walk' | 'finalized-reorg' | 'reorg-too-deep'
> {
  override readonly name = 'StartHeadsError'
}

/** Sequencing windows that an L1 reorg may reach back before it counts as a fault (op-node: MaxReorgSeqWindows). */
export const DEFAULT_MAX_REORG_WINDOWS = 5
/** Windows after which an engine without safe and finalized labels counts as synced (op-node: RecoverMinSeqWindows). */
const RECOVER_MIN_SEQ_WINDOWS = 14

export type StartHeads = Pick<EngineHeads, 'unsafe' | 'safe' | 'finalized'>
type StartEngine = Pick<Engine, 'blockRefByLabel' | 'blockRefByHash' | 'blockRefByNumber'>

export interface StartHeadsOptions {
  signal?: AbortSignal
  /** Sequencing windows that an L1 reorg may reach back. */
  maxReorgWindows?: number
  /** After a sync, safe and finalized stay this many L2 blocks behind the tip (`syncmode.offset-el-safe`). */
  offsetBlocks?: number
  /**
   * Skips the checks between the highest block with a canonical origin and the safe head (`l2.skip-sync-start-check`).
   */
  skipCheck?: boolean
}

/**
 * Finds the heads from which derivation can start (specs: derivation, "Finding the sync starting point"). Unsafe: the
 * chain is kept as far as its L1 origins are canonical or not yet known. Safe: a sequencing window below, because L1
 * data of that window may still change later blocks.
 * A block that does not follow from its parent is dropped with all blocks above it. Derivation replaces it.
 */
export async function findStartHeads(
  modules: { engine: StartEngine; l1: L1Lookup; clock: Clock; logger: Logger },
  config: RollupConfig,
  options: StartHeadsOptions = {},
): Promise<StartHeads> {
  const { engine, logger } = modules
  const { genesis, seqWindowSize: lookback } = config
  const maxReorgWindows = options.maxReorgWindows ?? DEFAULT_MAX_REORG_WINDOWS
  const heads = await readHeads(engine, config)
  if (isRecovered(heads, config)) {
    logger.warn('Engine has a chain but no safe and finalized block: treating it as synced', {
      unsafe: heads.unsafe.number,
    })
    return behindTip(engine, heads.unsafe, config, options.offsetBlocks ?? 0)
  }
  if (heads.unsafe.number < Math.max(heads.safe.number, heads.finalized.number)) {
    logger.error('Engine has lost safe blocks: continuing from its tip', {
      unsafe: heads.unsafe.number,
      safe: heads.safe.number,
      finalized: heads.finalized.number,
    })
    return behindTip(engine, heads.unsafe, config, options.offsetBlocks ?? 0)
  }

  const walk = createStartWalk(modules, heads, options.signal)
  let block = heads.unsafe
  let unsafe: L2BlockRef | undefined
  let highestCanonical: L2BlockRef | undefined
  let l1Block: L1BlockRef | undefined
  let isReady = false

  for (;;) {
    if (l1Block?.hash !== block.l1Origin.hash) l1Block = await readOrigin(block, l1Block)
    checkAgainstGenesis(block, l1Block)
    if (block.number === heads.finalized.number && block.hash !== heads.finalized.hash) {
      throw new StartHeadsError(
        'finalized-reorg',
        `cannot reorg finalized block ${heads.finalized.hash}: the engine's chain has ${block.hash} at ${block.number}; ` +
          'set its head back to the finalized block (debug_setHead, if supported) or sync the engine again',
      )
    }
    if (unsafe === undefined) {
      unsafe = block
      if (block.l1Origin.number + maxReorgWindows * lookback < heads.unsafe.l1Origin.number) {
        throw new StartHeadsError(
          'reorg-too-deep',
          `reorg is too deep: L1 does not have the origins down to L2 block ${block.number} (${block.hash}), whose origin ` +
            `${block.l1Origin.number} is more than ${maxReorgWindows} sequencing windows below ${heads.unsafe.l1Origin.number}; ` +
            'if this L1 is right, start with a higher --rollup.max-reorg-windows',
        )
      }
    }
    if (l1Block === undefined) {
      // The origin is ahead of this L1 node. This is plausible, so the block is kept.
      highestCanonical = undefined
    } else if (l1Block.hash === block.l1Origin.hash) {
      highestCanonical ??= block
    } else {
      logger.info('L2 block has an L1 origin that is not canonical', {
        block: block.number,
        origin: block.l1Origin.number,
      })
      unsafe = undefined
      highestCanonical = undefined
    }
    if (
      block.number <= heads.safe.number &&
      highestCanonical !== undefined &&
      block.l1Origin.number + lookback < highestCanonical.l1Origin.number &&
      block.sequenceNumber === 0
    ) {
      isReady = true
    }
    // Without a canonical block above, nothing above the safe start is kept.
    if (block.hash === heads.finalized.hash) return { unsafe: unsafe ?? block, safe: block, finalized: heads.finalized }
    if (options.skipCheck === true && highestCanonical?.hash === block.hash && block.number > heads.safe.number) {
      block = heads.safe
      continue
    }
    const parent = await readParent(block)
    const problem = linkProblem(parent, block, l1Block)
    if (problem !== undefined) {
      logger.warn('L2 block does not follow from its parent: dropping it and all blocks above', {
        block: block.number,
        hash: block.hash,
        problem,
      })
      unsafe = undefined
      highestCanonical = undefined
      isReady = false
    }
    block = parent
    if (isReady) return { unsafe: unsafe ?? block, safe: block, finalized: heads.finalized }
  }

  /** The canonical L1 block at the height of the block's origin; undefined if L1 has not reached it. */
  async function readOrigin(current: L2BlockRef, previous: L1BlockRef | undefined): Promise<L1BlockRef | undefined> {
    if (previous?.parentHash !== current.l1Origin.hash) return walk.canonicalL1Block(current.l1Origin.number)
    const origin = await walk.l1BlockByHash(current.l1Origin)
    if (origin !== undefined) return origin
    throw new StartHeadsError(
      'l2-walk',
      `L1 no longer has block ${current.l1Origin.hash}, the parent of a known block: L1 is reorganizing`,
    )
  }

  async function readParent(current: L2BlockRef): Promise<L2BlockRef> {
    const parent = await walk.l2Parent(current)
    if (parent !== undefined) return parent
    throw new StartHeadsError('l2-walk', `engine lacks L2 block ${current.parentHash}, parent of ${current.number}`)
  }

  function checkAgainstGenesis(current: L2BlockRef, origin: L1BlockRef | undefined): void {
    if (current.number !== genesis.l2.number) return
    if (current.hash !== genesis.l2.hash) {
      throw new StartHeadsError('l2-chain', `wrong chain: L2 genesis is ${current.hash}, expected ${genesis.l2.hash}`, {
        severity: 'critical',
      })
    }
    if (origin !== undefined && origin.hash !== genesis.l1.hash) {
      throw new StartHeadsError(
        'l1-chain',
        `wrong chain: L1 block ${origin.number} is ${origin.hash}, expected ${genesis.l1.hash}`,
      )
    }
  }
}

async function readHeads(engine: StartEngine, config: RollupConfig): Promise<StartHeads> {
  const { genesis } = config
  const finalized = (await engine.blockRefByLabel('finalized')) ?? (await engine.blockRefByHash(genesis.l2.hash))
  if (finalized === undefined) {
    throw new StartHeadsError(
      'l2-chain',
      `engine has neither a finalized block nor the L2 genesis block ${genesis.l2.hash}: it has another chain, or a pruned one that must be synced with --syncmode=execution-layer`,
      { severity: 'critical' },
    )
  }
  const safe = (await engine.blockRefByLabel('safe')) ?? finalized
  const unsafe = await engine.blockRefByLabel('latest')
  if (unsafe === undefined) throw new StartHeadsError('l2-walk', 'engine has no latest block')
  return { unsafe, safe, finalized }
}

/** Whether the engine's own sync has ended, but its safe and finalized heads were never set. */
function isRecovered({ unsafe, safe, finalized }: StartHeads, { genesis, seqWindowSize }: RollupConfig): boolean {
  return (
    finalized.hash === genesis.l2.hash &&
    safe.hash === genesis.l2.hash &&
    unsafe.l1Origin.number > genesis.l1.number + RECOVER_MIN_SEQ_WINDOWS * seqWindowSize
  )
}

async function behindTip(
  engine: StartEngine,
  tip: L2BlockRef,
  config: RollupConfig,
  offsetBlocks: number,
): Promise<StartHeads> {
  const safe = await blockBehindTip(engine, tip, config, offsetBlocks)
  return { unsafe: tip, safe, finalized: safe }
}

/** The block `offsetBlocks` below the tip, but not below genesis. */
export async function blockBehindTip(
  engine: Pick<Engine, 'blockRefByNumber'>,
  tip: L2BlockRef,
  config: RollupConfig,
  offsetBlocks: number,
): Promise<L2BlockRef> {
  const number = Math.max(config.genesis.l2.number, tip.number - offsetBlocks)
  if (number >= tip.number) return tip
  const block = await engine.blockRefByNumber(number)
  if (block !== undefined) return block
  throw new StartHeadsError('l2-walk', `engine lacks L2 block ${number}, ${offsetBlocks} below its tip`)
}

function linkProblem(parent: L2BlockRef, block: L2BlockRef, l1Block: L1BlockRef | undefined): string | undefined {
  if (parent.l1Origin.hash === block.l1Origin.hash) {
    return parent.sequenceNumber + 1 === block.sequenceNumber
      ? undefined
      : `sequence number ${block.sequenceNumber} after ${parent.sequenceNumber}`
  }
  if (block.sequenceNumber !== 0)
    return `first block of origin ${block.l1Origin.number} has sequence number ${block.sequenceNumber}`
  if (parent.l1Origin.number + 1 !== block.l1Origin.number) {
    return `origin ${block.l1Origin.number} after ${parent.l1Origin.number}`
  }
  if (l1Block?.hash === block.l1Origin.hash && l1Block.parentHash !== parent.l1Origin.hash) {
    return `origin ${block.l1Origin.hash} does not follow ${parent.l1Origin.hash}`
  }
  return undefined
}
