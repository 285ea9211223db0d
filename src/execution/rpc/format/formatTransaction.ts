import { toQuantity } from '../../../lib/hex.ts'
import { transactionToJson } from '../../../rollup/protocol/index.ts'
import type { BlockHeader, Receipt, Transaction } from '../../primitives/block.ts'
import { effectiveTip } from '../../tx/effectiveTip.ts'
import { type JsonRecord, withQuantities } from './quantities.ts'

/** Position of a mined transaction. Deposits take nonce and receipt version from their receipt. */
export interface MinedAt {
  header: Pick<BlockHeader, 'hash' | 'number' | 'timestamp' | 'baseFeePerGas'>
  index: number
  receipt?: Pick<Receipt, 'depositNonce' | 'depositReceiptVersion'> | undefined
}

/** op-geth's JSON of a transaction. Without `mined`, that of a pool transaction. */
export function formatTransaction(transaction: Transaction, mined: MinedAt | undefined): JsonRecord {
  const place = withQuantities({
    blockHash: mined?.header.hash ?? null,
    blockNumber: mined?.header.number ?? null,
    blockTimestamp: mined?.header.timestamp ?? null,
    transactionIndex: mined?.index ?? null,
  })
  const json = { ...place, ...transactionToJson(transaction) }
  if (transaction.type === 0x7d) return json
  if (transaction.type === 0x7e) {
    const { depositNonce, depositReceiptVersion } = mined?.receipt ?? {}
    const zeros = { gasPrice: 0, v: 0, r: 0, s: 0 }
    return { ...json, ...withQuantities({ ...zeros, nonce: depositNonce ?? 0, depositReceiptVersion }) }
  }
  const { baseFeePerGas } = mined?.header ?? {}
  // For pool transactions, the highest price.
  const gasPrice =
    baseFeePerGas === undefined ? transaction.maxFeePerGas : baseFeePerGas + effectiveTip(transaction, baseFeePerGas)
  return { ...json, gasPrice: toQuantity(gasPrice) }
}
