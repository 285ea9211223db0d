import { toQuantity } from '../../lib/hex.ts'
import { BlockWarming, type WatchedTransaction } from '../block/blockWarming.ts'
import type { TracedResult, TransactionTracer } from './types.ts'

/**
 * Tells why devium-geth refunds gas (Lagoon): which accesses a transaction paid for as cold though an earlier one of its block had
 * warmed them, and which one. The tracers are for all transactions of one block, from the first on. geth has no such tracer.
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
    // Deposits warm for others, and are refunded nothing.
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
