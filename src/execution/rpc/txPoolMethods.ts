import { checksumAddress } from '../../lib/checksumAddress.ts'
import { toQuantity } from '../../lib/hex.ts'
import type { SignedTransaction } from '../chain/block.ts'
import type { MethodTable, RpcModules } from './context.ts'
import { formatTransaction, type JsonRecord } from './formatTransaction.ts'
import { address, method } from './params.ts'

/** txpool_ namespace: what waits for a block. */
export function createTxPoolMethods({ pool }: Pick<RpcModules, 'pool'>): MethodTable {
  type Show<T extends JsonRecord | string> = (transaction: SignedTransaction) => T
  const byNonce = <T extends JsonRecord | string>(transactions: readonly SignedTransaction[], show: Show<T>) =>
    Object.fromEntries(transactions.map((transaction) => [String(transaction.nonce), show(transaction)]))
  const whole: Show<JsonRecord> = (transaction) => formatTransaction(transaction, undefined)
  const everyone = <T extends JsonRecord | string>(show: Show<T>) => {
    const answer: { pending: JsonRecord; queued: JsonRecord } = { pending: {}, queued: {} }
    for (const sender of pool.senderAddresses()) {
      const { pending, queued } = pool.content(sender)
      const name = checksumAddress(sender)
      if (pending.length > 0) answer.pending[name] = byNonce(pending, show)
      if (queued.length > 0) answer.queued[name] = byNonce(queued, show)
    }
    return answer
  }
  return {
    txpool_status: method([], () => {
      const { pending, queued } = pool.status()
      return { pending: toQuantity(pending), queued: toQuantity(queued) }
    }),
    txpool_content: method([], () => everyone(whole)),
    txpool_contentFrom: method([address], ([sender]) => {
      const { pending, queued } = pool.content(sender)
      return { pending: byNonce(pending, whole), queued: byNonce(queued, whole) }
    }),
    txpool_inspect: method([], () =>
      everyone(({ to, value, gasLimit, maxFeePerGas }) => {
        const target = to === null ? 'contract creation' : checksumAddress(to)
        return `${target}: ${value} wei + ${gasLimit} gas × ${maxFeePerGas} wei`
      }),
    ),
  }
}
