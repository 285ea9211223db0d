import type { JsonValue } from '../../../jsonRpc/types.ts'
import { toQuantity } from '../../../lib/hex.ts'
import { transactionToJson } from '../../../rollup/protocol/index.ts'
import type { BlockHeader, Receipt, SignedTransaction, Transaction } from '../../primitives/block.ts'

export type JsonRecord = { [key: string]: JsonValue }

/** Position of a mined transaction. Deposits take nonce and receipt version from their receipt. */
export interface MinedAt {
  header: Pick<BlockHeader, 'hash' | 'number' | 'timestamp' | 'baseFeePerGas'>
  index: number
  receipt?: Pick<Receipt, 'depositNonce' | 'depositReceiptVersion'> | undefined
}

/** op-geth's JSON of a transaction. Without `mined`, that of a pool transaction. */
export function formatTransaction(transaction: Transaction, mined: MinedAt | undefined): JsonRecord {
  const place = {
    blockHash: mined?.header.hash ?? null,
    blockNumber: mined === undefined ? null : toQuantity(mined.header.number),
    blockTimestamp: mined === undefined ? null : toQuantity(mined.header.timestamp),
    transactionIndex: mined === undefined ? null : toQuantity(mined.index),
  }
  const json = { ...place, ...transactionToJson(transaction) }
  if (transaction.type === 0x7d) return json
  if (transaction.type === 0x7e) {
    const { depositNonce, depositReceiptVersion } = mined?.receipt ?? {}
    return {
      ...{ ...json, gasPrice: '0x0', nonce: toQuantity(depositNonce ?? 0), v: '0x0', r: '0x0', s: '0x0' },
      ...(depositReceiptVersion === undefined ? {} : { depositReceiptVersion: toQuantity(depositReceiptVersion) }),
    }
  }
  return { ...json, gasPrice: toQuantity(effectiveGasPrice(transaction, mined?.header.baseFeePerGas)) }
}

/** Wei paid per gas in a block with this base fee. For pool transactions, the highest price. */
export function effectiveGasPrice(
  { maxFeePerGas, maxPriorityFeePerGas }: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFeePerGas: bigint | undefined,
): bigint {
  if (baseFeePerGas === undefined) return maxFeePerGas
  const price = baseFeePerGas + maxPriorityFeePerGas
  return price < maxFeePerGas ? price : maxFeePerGas
}
