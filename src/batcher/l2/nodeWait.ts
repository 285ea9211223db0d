import { JsonRpcError } from '../../jsonRpc/types.ts'
import { findRecentTxBlock } from '../l1/recentTx.ts'
import type { BatchSubmitterModules } from '../submitter/modules.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import type { BatcherSyncStatus } from './syncStatus.ts'

type NodeWaitModules = Pick<BatchSubmitterModules, 'l1' | 'sender' | 'clock' | 'logger'>

export interface NodeWaitOptions {
  /** L1 blocks searched for our last transaction. 0: the node must have reached the L1 head. */
  depth: number
  /** How long to wait for our transactions in the L1's pool. After that, new transactions replace them. */
  poolTimeoutMs: number
}

/**
 * Delays loading until the rollup node has derived our earlier transactions. First the L1's pool must hold none of them. Then the
 * rollup node must have derived the block of our last transaction. Otherwise the safe head would be too low, and we
 * would post blocks again that are on L1.
 */
export class NodeWait {
  private readonly modules: NodeWaitModules
  private readonly options: NodeWaitOptions
  private readonly startedAtMs: number
  private readonly notices: RepeatedWarnings
  /** The L1 block that the node must have derived. */
  private target: number | undefined
  private lastStatus: BatcherSyncStatus | undefined
  /** The awaited event, as a sentence for operators. */
  reason: string | undefined

  constructor(modules: NodeWaitModules, options: NodeWaitOptions) {
    this.modules = modules
    this.options = options
    this.startedAtMs = modules.clock.now()
    this.notices = new RepeatedWarnings(modules, 'info')
  }

  /** Rejects with the L1's error when a request fails. */
  async isOver(status: BatcherSyncStatus, signal: AbortSignal): Promise<boolean> {
    if (this.target === undefined) {
      if (await this.poolHoldsOurs(signal)) return false
      this.target = await this.findTarget(signal)
    }
    const { currentL1, safeL2 } = status
    // At the target block itself the node may still be deriving. Two equal answers in a row show that it has finished:
    // an idle L1 never brings a later block.
    const { lastStatus, target } = this
    const isRepeated = currentL1.hash === lastStatus?.currentL1.hash && safeL2.hash === lastStatus.safeL2.hash
    this.lastStatus = status
    if (currentL1.number > target || (currentL1.number === target && isRepeated)) return true
    this.report(`the rollup node is at L1 block ${currentL1.number} and must first derive block ${target}`)
    this.modules.logger.debug('Waiting for the rollup node', { current_l1: currentL1.number, target })
    return false
  }

  private async poolHoldsOurs(signal: AbortSignal): Promise<boolean> {
    const { l1, sender, clock } = this.modules
    if (clock.now() - this.startedAtMs >= this.options.poolTimeoutMs) return false
    const latest = await l1.nonceAt(sender.from, 'latest', signal)
    const pending = await l1.nonceAt(sender.from, 'pending', signal)
    if (pending <= latest) return false
    this.report(`the L1's pool still holds ${pending - latest} transactions of ${sender.from} from an earlier run`)
    return true
  }

  private async findTarget(signal: AbortSignal): Promise<number> {
    const { l1, sender, logger } = this.modules
    try {
      return await findRecentTxBlock(l1, sender.from, this.options.depth, signal)
    } catch (error) {
      if (!(error instanceof JsonRpcError)) throw error
      logger.info('The L1 does not serve nonces of past blocks. Waiting for the rollup node to reach the L1 head', {
        err: error,
      })
      return (await l1.head(signal)).number
    }
  }

  private report(reason: string): void {
    this.reason = reason
    this.notices.warn('Waiting before loading blocks', reason)
  }
}
