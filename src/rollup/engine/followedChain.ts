import type { Logger } from '../../lib/logger.ts'
import type { L2BlockRef, PayloadAttributes } from '../protocol/types.ts'
import type { EngineCalls } from './engineCalls.ts'
import { EngineError } from './engineErrors.ts'
import type { EngineHeads } from './types.ts'

/** Heads that another node derived. */
export interface FollowedHeads {
  localSafe: L2BlockRef
  safe: L2BlockRef
  finalized: L2BlockRef
}

/** Prepares the attributes that L1 prescribes for `block` on its parent: deposits only. */
export type PrepareDeposits = (parent: L2BlockRef, block: L2BlockRef) => Promise<PayloadAttributes>

/** The heads, as their only owner lets them be moved. */
interface HeadsOwner {
  readonly heads: EngineHeads
  move(changes: Partial<EngineHeads>): void
}

interface FollowedChainModules {
  calls: EngineCalls
  owner: HeadsOwner
  logger: Logger
}

/** Takes over the heads of a node that is followed. Its caller has the engine for itself. */
export class FollowedChain {
  private readonly modules: FollowedChainModules
  /** Number of the followed node's local safe head. */
  private number = 0
  /** Number up to which the followed node has replaced our chain. */
  private leftUpTo = 0

  constructor(modules: FollowedChainModules) {
    this.modules = modules
  }

  /**
   * The followed node has replaced the chain, and its new one is not final up to where the old one ended: peers may still send blocks of the
   * old one.
   */
  get hasLeftChain(): boolean {
    return this.leftUpTo > this.modules.owner.heads.finalized.number
  }

  /** Throws for a parent below what the followed node has derived: the block would be of another chain than its blocks. */
  checkParent({ number }: L2BlockRef): void {
    if (number >= this.number) return
    const message = `engine does not have the chain up to block ${this.number} of the node that is followed`
    throw new EngineError('engine-syncing', message, { severity: 'temporary' })
  }

  /**
   * Heads only rise, but where our chain is another one. The unsafe head goes to the local safe one when it is below or not on its chain; a
   * block that the engine lacks below its head is still being synced.
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
      logger.warn('L2 reorg: the node that is followed has another chain', fields)
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
   * Builds the block that an op-supernode has put in the place of an invalid one: it has deposits only, and nobody gossips it. False when
   * that gives another block.
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
    // The engine's head is the parent now.
    owner.move(heads)
    if (built.block.hash !== block.hash) return false
    await calls.insert(built)
    logger.info('Built the block that stands in for an invalid one', { number: block.number, hash: block.hash })
    return true
  }

  /** Back to the finalized block, above which peers are asked for the other chain. */
  private async leaveChain(): Promise<void> {
    const { calls, owner } = this.modules
    const { finalized } = owner.heads
    const heads = { unsafe: finalized, pendingSafe: finalized, safe: finalized, finalized }
    await calls.sendForkchoice(heads)
    owner.move(heads)
  }
}
