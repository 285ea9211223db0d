import { toHex } from '../../../lib/hex.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { MethodTable } from '../context.ts'
import { formatReceipt } from '../format/formatReceipt.ts'
import { formatTransaction } from '../format/formatTransaction.ts'
import { hash, method } from '../params.ts'

/** Mined transactions by hash; null for others. */
export function createMinedMethods(chain: ReadableChain): MethodTable {
  const raw = method([hash], async ([wanted]) => {
    const located = await chain.transactionByHash(wanted)
    return located === undefined ? null : toHex(located.transaction.raw)
  })
  return {
    eth_getTransactionByHash: method([hash], async ([wanted]) => {
      const located = await chain.transactionByHash(wanted)
      if (located === undefined) return null
      const { transaction, block: header, index } = located
      const receipt = transaction.type === 0x7e ? (await chain.receipts(header.hash))?.[index] : undefined
      return formatTransaction(transaction, { header, index, receipt })
    }),
    eth_getTransactionReceipt: method([hash], async ([wanted]) => {
      const header = chain.headerOfTransaction(wanted)
      if (header === undefined) return null
      const located = await chain.transactionByHash(wanted)
      const receipt = located && (await chain.receipts(located.block.hash))?.[located.index]
      if (located === undefined || receipt === undefined) return null
      return formatReceipt(receipt, located.block.timestamp)
    }),
    eth_getRawTransactionByHash: raw,
    debug_getRawTransaction: raw,
  }
}
