import type { JsonValue } from '../../../jsonRpc/types.ts'
import { toHex, toQuantity } from '../../../lib/hex.ts'
import type { BlockHeader, Receipt, SignedTransaction, Transaction } from '../../chain/block.ts'

export type JsonRecord = { [key: string]: JsonValue }

/** Where a mined transaction stands. Deposits take nonce and receipt version from their receipt. */
export interface MinedAt {
  header: Pick<BlockHeader, 'hash' | 'number' | 'timestamp' | 'baseFeePerGas'>
  index: number
  receipt?: Pick<Receipt, 'depositNonce' | 'depositReceiptVersion'> | undefined
}

/** op-geth's RPC form of a transaction; without `mined` that of one in the pool. */
export function formatTransaction(transaction: Transaction, mined: MinedAt | undefined): JsonRecord {
  const place = {
    blockHash: mined?.header.hash ?? null,
    blockNumber: mined === undefined ? null : toQuantity(mined.header.number),
    blockTimestamp: mined === undefined ? null : toQuantity(mined.header.timestamp),
    transactionIndex: mined === undefined ? null : toQuantity(mined.index),
  }
  // Fields that do not apply to it are left out (specs: lagoon/post-exec, "Generic Transaction Interface Representation").
  if (transaction.type === 0x7d) {
    const { from, hash, data, type } = transaction
    return { ...place, from, gas: '0x0', hash, input: toHex(data), value: '0x0', type: toQuantity(type) }
  }
  const common = {
    ...place,
    from: transaction.from,
    gas: toQuantity(transaction.gasLimit),
    hash: transaction.hash,
    input: toHex(transaction.data),
    to: transaction.to,
    value: toQuantity(transaction.value),
    type: toQuantity(transaction.type),
  }
  if (transaction.type === 0x7e) {
    const { depositNonce, depositReceiptVersion } = mined?.receipt ?? {}
    return {
      ...common,
      gasPrice: '0x0',
      nonce: toQuantity(depositNonce ?? 0),
      v: '0x0',
      r: '0x0',
      s: '0x0',
      sourceHash: transaction.sourceHash,
      mint: toQuantity(transaction.mint),
      ...(transaction.isSystemTx ? { isSystemTx: true } : {}),
      ...(depositReceiptVersion === undefined ? {} : { depositReceiptVersion: toQuantity(depositReceiptVersion) }),
    }
  }
  return {
    ...common,
    nonce: toQuantity(transaction.nonce),
    gasPrice: toQuantity(effectiveGasPrice(transaction, mined?.header.baseFeePerGas)),
    ...(transaction.type >= 2
      ? {
          maxFeePerGas: toQuantity(transaction.maxFeePerGas),
          maxPriorityFeePerGas: toQuantity(transaction.maxPriorityFeePerGas),
        }
      : {}),
    ...(transaction.type === 0
      ? {}
      : {
          accessList: transaction.accessList.map(({ address, storageKeys }) => ({ address, storageKeys })),
          yParity: toQuantity(transaction.yParity),
        }),
    ...(transaction.chainId === undefined ? {} : { chainId: toQuantity(transaction.chainId) }),
    ...(transaction.authorizationList === undefined
      ? {}
      : {
          authorizationList: transaction.authorizationList.map((entry) => ({
            chainId: toQuantity(entry.chainId),
            address: entry.address,
            nonce: toQuantity(entry.nonce),
            yParity: toQuantity(entry.yParity),
            r: toQuantity(entry.r),
            s: toQuantity(entry.s),
          })),
        }),
    v: toQuantity(transaction.v),
    r: toQuantity(transaction.r),
    s: toQuantity(transaction.s),
  }
}

/** Wei paid for a unit of gas in a block with that base fee; in the pool the most that would be paid. */
export function effectiveGasPrice(
  { maxFeePerGas, maxPriorityFeePerGas }: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFeePerGas: bigint | undefined,
): bigint {
  if (baseFeePerGas === undefined) return maxFeePerGas
  const price = baseFeePerGas + maxPriorityFeePerGas
  return price < maxFeePerGas ? price : maxFeePerGas
}
