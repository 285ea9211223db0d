import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import type { Engine, EngineHeads } from './types.ts'

/** L1 reads; `undefined` means that L1 does not have the block (any more, or yet). */
export interface L1Lookup {
  blockInfoByHash(hash: Hex): Promise<L1BlockRef | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
}

/** `l2-chain` (critical): the engine's chain is not this rollup's. `l2-walk`: a block on the way could not be read. */
export class StartHeadsError extends DeviumError<'l2-chain' | 'l2-walk' | 'finalized-reorg' | 'reorg-too-deep'> {
  override readonly name = 'StartHeadsError'
}

/** Sequencing windows that an L1 reorg may reach back before it is taken for a fault (op-node: MaxReorgSeqWindows). */
const MAX_REORG_SEQ_WINDOWS = 5
/** Windows after which an engine without safe and finalized labels is taken as recovered (op-node: RecoverMinSeqWindows). */
const RECOVER_MIN_SEQ_WINDOWS = 14

export type StartHeads = Pick<EngineHeads, 'unsafe' | 'safe' | 'finalized'>

/**
 * Heads from which derivation may start again (specs: derivation, "Finding the sync starting point"): the unsafe chain
 * is kept as far as its L1 origins are canonical or not yet seen, and safe goes back a sequencing window from there,
 * because L1 data of that window may still decide about the blocks after it.
 */
export async function findStartHeads(
  modules: { engine: Pick<Engine, 'blockRefByLabel' | 'blockRefByHash'>; l1: L1Lookup; logger: Logger },
  config: RollupConfig,
): Promise<StartHeads> {
  const { engine, l1 } = modules
  const heads = await readHeads(engine, config)
  const lookback = config.seqWindowSize
  const { genesis } = config

  let block = heads.unsafe
  let unsafe: L2BlockRef | undefined
  let safe = heads.safe
  let highestCanonical: L2BlockRef | undefined
  let l1Block: L1BlockRef | undefined
  let isReady = false

  for (;;) {
    if (l1Block?.hash !== block.l1Origin.hash) l1Block = await readOrigin(l1, block, l1Block)
    checkAgainstGenesis(block, l1Block, config)
    if (block.number === heads.finalized.number && block.hash !== heads.finalized.hash) {
      throw new StartHeadsError(
        'finalized-reorg',
        `cannot reorg finalized block ${heads.finalized.hash}: chain has ${block.hash} at ${block.number}`,
        { severity: 'critical' },
      )
    }
    if (unsafe === undefined) {
      unsafe = block
      if (block.l1Origin.number + MAX_REORG_SEQ_WINDOWS * lookback < heads.unsafe.l1Origin.number) {
        throw new StartHeadsError(
          'reorg-too-deep',
          `reorg is too deep: from L1 origin ${heads.unsafe.l1Origin.number} below ${block.l1Origin.number}`,
          { severity: 'critical' },
        )
      }
    }
    if (l1Block === undefined) {
      // The origin lies ahead of this L1 node: plausible, so the block may stay.
      highestCanonical = undefined
    } else if (l1Block.hash === block.l1Origin.hash) {
      highestCanonical ??= block
    } else {
      modules.logger.info('L2 block has an L1 origin that is not canonical', {
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
    if (block.hash === heads.finalized.hash) {
      safe = block
      break
    }
    const parent: L2BlockRef = await readParent(engine, block, l1Block)
    block = parent
    if (isReady) {
      safe = block
      break
    }
  }
  // Only a chain that ends at a non-canonical block has no candidate: then nothing above the safe start is kept.
  return { unsafe: unsafe ?? safe, safe, finalized: heads.finalized }

  function checkAgainstGenesis(
    current: L2BlockRef,
    origin: L1BlockRef | undefined,
    { genesis: expected }: RollupConfig,
  ): void {
    if (current.number !== genesis.l2.number) return
    if (current.hash !== expected.l2.hash) {
      throw new StartHeadsError(
        'l2-chain',
        `wrong chain: L2 genesis is ${current.hash}, expected ${expected.l2.hash}`,
        { severity: 'critical' },
      )
    }
    if (origin !== undefined && origin.hash !== expected.l1.hash) {
      throw new StartHeadsError(
        'l2-chain',
        `wrong chain: L1 block ${origin.number} is ${origin.hash}, expected ${expected.l1.hash}`,
        { severity: 'critical' },
      )
    }
  }
}

async function readHeads(
  engine: Pick<Engine, 'blockRefByLabel' | 'blockRefByHash'>,
  config: RollupConfig,
): Promise<StartHeads> {
  const { genesis, seqWindowSize } = config
  const finalized = (await engine.blockRefByLabel('finalized')) ?? (await engine.blockRefByHash(genesis.l2.hash))
  if (finalized === undefined) {
    throw new StartHeadsError('l2-chain', `wrong chain: engine does not have the L2 genesis block ${genesis.l2.hash}`, {
      severity: 'critical',
    })
  }
  const safe = (await engine.blockRefByLabel('safe')) ?? finalized
  const unsafe = await engine.blockRefByLabel('latest')
  if (unsafe === undefined)
    throw new StartHeadsError('l2-walk', 'engine has no latest block', { severity: 'temporary' })
  const isRecovered =
    safe.hash === finalized.hash &&
    finalized.hash === genesis.l2.hash &&
    unsafe.l1Origin.number > genesis.l1.number + RECOVER_MIN_SEQ_WINDOWS * seqWindowSize
  if (isRecovered || unsafe.number < safe.number || unsafe.number < finalized.number) {
    return { unsafe, safe: unsafe, finalized: unsafe }
  }
  return { unsafe, safe, finalized }
}

/** The canonical L1 block at the height of the block's origin; undefined when L1 has not come that far. */
async function readOrigin(
  l1: L1Lookup,
  block: L2BlockRef,
  previous: L1BlockRef | undefined,
): Promise<L1BlockRef | undefined> {
  if (previous?.parentHash !== block.l1Origin.hash) return l1.blockInfoByNumber(block.l1Origin.number)
  const origin = await l1.blockInfoByHash(block.l1Origin.hash)
  if (origin === undefined) {
    throw new StartHeadsError('l2-walk', `L1 does not have block ${block.l1Origin.hash}, parent of one it has`, {
      severity: 'temporary',
    })
  }
  return origin
}

async function readParent(
  engine: Pick<Engine, 'blockRefByHash'>,
  block: L2BlockRef,
  l1Block: L1BlockRef | undefined,
): Promise<L2BlockRef> {
  const parent = await engine.blockRefByHash(block.parentHash)
  if (parent === undefined) {
    throw new StartHeadsError('l2-walk', `engine does not have block ${block.parentHash}, parent of ${block.number}`, {
      severity: 'temporary',
    })
  }
  const problem = linkProblem(parent, block, l1Block)
  if (problem !== undefined) {
    throw new StartHeadsError('l2-chain', `L2 block ${block.number} does not follow from its parent: ${problem}`, {
      severity: 'critical',
    })
  }
  return parent
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
