import { JsonRpcError } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { findRecentTxBlock } from '../l1/recentTx.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import type { BatcherSyncStatus } from './syncStatus.ts'

export interface NodeWaitModules {
  l1: Pick<SubmitterL1, 'head' | 'nonceAt'>
  sender: { readonly from: Hex }
  clock: Clock
  logger: Logger
}

export interface NodeWaitOptions {
  /** L1 blocks in which our last transaction is looked for; 0: the node must have reached the L1 head. */
  depth: number
  /** How long transactions in the L1's pool are waited for: those sent after it replace them. */
  poolTimeoutMs: number
}

/**
 * Before blocks are loaded, all that we sent before has to be behind us: what the L1's pool still holds is waited for, and
 * the rollup node must have derived the block of our last transaction. Else its safe head would be too low, and blocks
 * that are on L1 already would be posted again.
 */
export class NodeWait {
  private readonly modules: NodeWaitModules
  private readonly options: NodeWaitOptions
  private readonly startedAtMs: number
  private readonly notices: RepeatedWarnings
  /** The L1 block that the node must have reached. */
  private target: number | undefined
  private lookedAt: BatcherSyncStatus | undefined
  private why: string | undefined

  constructor(modules: NodeWaitModules, options: NodeWaitOptions) {
    this.modules = modules
    this.options = options
    this.startedAtMs = modules.clock.now()
    this.notices = new RepeatedWarnings(modules, 'info')
  }

  /** What is waited for, for people. */
  get reason(): string | undefined {
    return this.why
  }

  /** Whether it is over. Throws what the L1 answers when it cannot say. */
  async isOver(status: BatcherSyncStatus, signal: AbortSignal): Promise<boolean> {
    if (this.target === undefined) {
      if (await this.poolHoldsOurs(signal)) return false
      this.target = await this.findTarget(signal)
    }
    const { currentL1, safeL2 } = status
    // At the block itself the node may still be deriving from it; an L1 that stands still never brings a later one.
    const { lookedAt, target } = this
    const isSettled = currentL1.hash === lookedAt?.currentL1.hash && safeL2.hash === lookedAt.safeL2.hash
    this.lookedAt = status
    if (currentL1.number > target || (currentL1.number === target && isSettled)) return true
    this.say(`the rollup node has not derived L1 block ${target} yet, it is at ${currentL1.number}`)
    this.modules.logger.debug('Waiting for the rollup node', { current_l1: currentL1.number, target })
    return false
  }

  private async poolHoldsOurs(signal: AbortSignal): Promise<boolean> {
    const { l1, sender, clock } = this.modules
    if (clock.now() - this.startedAtMs >= this.options.poolTimeoutMs) return false
    const latest = await l1.nonceAt(sender.from, 'latest', signal)
    const pending = await l1.nonceAt(sender.from, 'pending', signal)
    if (pending <= latest) return false
    this.say(`${pending - latest} transactions of ${sender.from} are in the L1's pool from before`)
    return true
  }

  private async findTarget(signal: AbortSignal): Promise<number> {
    const { l1, sender, logger } = this.modules
    try {
      return await findRecentTxBlock(l1, sender.from, this.options.depth, signal)
    } catch (error) {
      if (!(error instanceof JsonRpcError)) throw error
      logger.info('The L1 does not know nonces of earlier blocks: the rollup node has to reach its head', {
        err: error,
      })
      return (await l1.head(signal)).number
    }
  }

  private say(reason: string): void {
    this.why = reason
    this.notices.warn('Nothing is loaded yet', reason)
  }
}
