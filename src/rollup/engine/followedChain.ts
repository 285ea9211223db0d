import type { Logger } from '../../lib/logger.ts'
import type { L2BlockRef, PayloadAttributes } from '../protocol/types.ts'
import type { EngineCalls } from './engineCalls.ts'
import { EngineError } from './engineErrors.ts'
import type { EngineHeads, HeadsOwner } from './types.ts'

/** The heads that another node derived. */
export interface FollowedHeads {
  localSafe: L2BlockRef
  safe: L2BlockRef
  finalized: L2BlockRef
}

/** Prepares the attributes of `block` on its parent from L1: deposits only. */
export type PrepareDeposits = (parent: L2BlockRef, block: L2BlockRef) => Promise<PayloadAttributes>

interface FollowedChainModules {
  calls: EngineCalls
  owner: HeadsOwner
  logger: Logger
}

/** Adopts the heads of a followed node. The caller must hold the engine lock. */
export class FollowedChain {
  private readonly modules: FollowedChainModules
  /** Number of the followed node's local safe head. */
  private number = 0
  /** Highest number of our chain that the followed node has replaced. */
  private leftUpTo = 0

  constructor(modules: FollowedChainModules) {
    this.modules = modules
  }

  /**
   * True if the followed node has replaced the chain, until the new chain is final up to the old chain's end. Peers may
   * then still send blocks of the old chain.
   */
  get hasLeftChain(): boolean {
    return this.leftUpTo > this.modules.owner.heads.finalized.number
  }

  /**
   * Throws if the parent is below the followed node's derived head, because the new block would conflict with its
   * chain.
   */
  checkParent({ number }: L2BlockRef): void {
    if (number >= this.number) return
    const message = `engine does not have the followed node's chain up to block ${this.number} yet`
    throw new EngineError('engine-syncing', message)
  }

  /**
   * Heads only rise, unless our chain differs. The unsafe head moves to the local safe head if it is below it or not on
   * its chain. A block that is missing below the engine's head is still being synced.
   */
  async follow({ localSafe, safe, finalized }: FollowedHeads, prepare?: PrepareDeposits): Promise<void> {
    const { calls, owner, logger } = this.modules
    const current = owner.heads
    this.number = localSafe.number
    const isBelow = current.unsafe.number < localSafe.number
    const own = isBelow ? undefined : await calls.blockByNumber(localSafe.number)
    const isOther = own !== undefined && own.hash !== localSafe.hash
    const risen = (ours: L2BlockRef, theirs: L2BlockRef) => (isOther || theirs.number > ours.number ? theirs : ours)
    const heads: EngineHeads = {
      unsafe: isBelow || isOther ? localSafe : current.unsafe,
      pendingSafe: risen(current.pendingSafe, localSafe),
      safe: risen(current.safe, safe),
      finalized: finalized.number > current.finalized.number ? finalized : current.finalized,
    }
    if (isOther) {
      const fields = { number: localSafe.number, ours: own.hash, theirs: localSafe.hash }
      logger.warn('L2 reorg: the followed node has another chain', fields)
      this.leftUpTo = Math.max(this.leftUpTo, current.unsafe.number)
    }
    try {
      await this.send(heads)
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'engine-syncing') throw error
      const isNext = localSafe.parentHash === current.unsafe.hash
      const isRebuilt = prepare !== undefined && (isOther || isNext) && (await this.rebuild(localSafe, prepare))
      if (isRebuilt) await this.send(heads)
      else if (isOther) await this.leaveChain()
      if (!isRebuilt) throw error
    }
    owner.move(heads)
  }

  private async send(heads: EngineHeads): Promise<void> {
    const { calls } = this.modules
    if (!calls.knows(heads)) await calls.sendForkchoice(heads, 'temporary')
  }

  /**
   * Builds the block with which an op-supernode has replaced an invalid block. It contains only deposits, and is not
   * gossiped. Returns false if the built block differs.
   */
  private async rebuild(block: L2BlockRef, prepare: PrepareDeposits): Promise<boolean> {
    const { calls, owner, logger } = this.modules
    const parent = await calls.blockByNumber(block.number - 1)
    if (parent?.hash !== block.parentHash) return false
    const { safe, finalized } = owner.heads
    const safeBelow = safe.number <= parent.number ? safe : finalized
    const heads = { unsafe: parent, pendingSafe: safeBelow, safe: safeBelow, finalized }
    const attributes = await prepare(parent, block)
    const built = await calls.finishBlock(await calls.startBlock(parent, heads, attributes))
    // The engine's head is now the parent.
    owner.move(heads)
    if (built.block.hash !== block.hash) return false
    await calls.insert(built)
    logger.info('Built the block that replaces an invalid block', { number: block.number, hash: block.hash })
    return true
  }

  /** Goes back to the finalized block. The other chain above it is then requested from peers. */
  private async leaveChain(): Promise<void> {
    const { calls, owner } = this.modules
    const { finalized } = owner.heads
    const heads = { unsafe: finalized, pendingSafe: finalized, safe: finalized, finalized }
    await calls.sendForkchoice(heads)
    owner.move(heads)
  }
}
