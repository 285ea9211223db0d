import { toQuantity } from '../../lib/hex.ts'
import { type Warmed, WatchedTransaction } from '../block/blockWarming.ts'
import type { TracedResult, TransactionTracer } from './types.ts'

/**
 * Explains devium-geth's gas refunds (Lagoon): the accesses that were charged as cold although an earlier transaction
 * of the block had reached them, and that transaction. Creates one tracer for each transaction of a block, from the
 * first on. geth has no such tracer.
 */
export function gasRefundTracers(): () => TransactionTracer {
  const warmed: Warmed = new Map()
  let index = 0
  return () => new GasRefundTracer(warmed, index++)
}

class GasRefundTracer implements TransactionTracer {
  private readonly warmed: Warmed
  private readonly index: number
  private watched: WatchedTransaction | undefined
  private isDeposit = false

  constructor(warmed: Warmed, index: number) {
    this.warmed = warmed
    this.index = index
  }

  begin(...[env, { isDeposit = false }]: Parameters<TransactionTracer['begin']>): void {
    this.isDeposit = isDeposit
    this.watched = new WatchedTransaction(this.warmed, env.evm.substate, this.index)
  }

  end({ gasUsed }: TracedResult): unknown {
    this.watched?.keep({ paysFees: !this.isDeposit })
    // Deposits warm accesses for others, but get no refund.
    const accesses = this.isDeposit ? [] : (this.watched?.accesses ?? [])
    return {
      gasUsed: toQuantity(gasUsed),
      accesses: accesses.map(({ address, slot, surcharge, warmedBy }) => ({
        address,
        ...(slot === undefined ? {} : { slot }),
        gas: toQuantity(surcharge),
        warmedBy: toQuantity(warmedBy),
      })),
    }
  }
}
