import { toQuantity } from '../../lib/hex.ts'
import { BlockWarming, type WatchedTransaction } from '../block/blockWarming.ts'
import type { TracedResult, TransactionTracer } from './types.ts'

/**
 * Explains devium-geth's gas refunds (Lagoon): the accesses that were charged as cold although an earlier transaction
 * of the block had reached them, and that transaction. Creates one tracer for each transaction of a block, from the
 * first on. geth has no such tracer.
 */
export function gasRefundTracers(): () => TransactionTracer {
  const warming = new BlockWarming()
  let index = 0
  return () => new GasRefundTracer(warming, index++)
}

class GasRefundTracer implements TransactionTracer {
  private readonly warming: BlockWarming
  private readonly index: number
  private watched: WatchedTransaction | undefined
  private isDeposit = false

  constructor(warming: BlockWarming, index: number) {
    this.warming = warming
    this.index = index
  }

  begin(...[env, { isDeposit = false }]: Parameters<TransactionTracer['begin']>): void {
    this.isDeposit = isDeposit
    this.watched = this.warming.watch(env.evm.substate, this.index)
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
