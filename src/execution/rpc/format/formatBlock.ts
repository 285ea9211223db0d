import { toQuantity } from '../../../lib/hex.ts'
import type { Block, BlockHeader, Receipt } from '../../primitives/block.ts'
import { formatTransaction, type JsonRecord } from './formatTransaction.ts'

/** op-geth's JSON of a header, as in eth_getHeaderByNumber and the block methods. */
export function formatHeader(header: BlockHeader): JsonRecord {
  return {
    baseFeePerGas: toQuantity(header.baseFeePerGas),
    ...(header.blobGasUsed === undefined ? {} : { blobGasUsed: toQuantity(header.blobGasUsed) }),
    difficulty: toQuantity(header.difficulty),
    ...(header.excessBlobGas === undefined ? {} : { excessBlobGas: toQuantity(header.excessBlobGas) }),
    extraData: header.extraData,
    gasLimit: toQuantity(header.gasLimit),
    gasUsed: toQuantity(header.gasUsed),
    hash: header.hash,
    logsBloom: header.logsBloom,
    miner: header.coinbase,
    mixHash: header.mixHash,
    nonce: header.nonce,
    number: toQuantity(header.number),
    ...(header.parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot: header.parentBeaconBlockRoot }),
    parentHash: header.parentHash,
    receiptsRoot: header.receiptsRoot,
    ...(header.requestsHash === undefined ? {} : { requestsHash: header.requestsHash }),
    sha3Uncles: header.unclesHash,
    stateRoot: header.stateRoot,
    timestamp: toQuantity(header.timestamp),
    transactionsRoot: header.transactionsRoot,
    ...(header.withdrawalsRoot === undefined ? {} : { withdrawalsRoot: header.withdrawalsRoot }),
  }
}

/**
 * op-geth's JSON of a block. With `receipts`, transactions are full objects (deposits need their receipt's nonce).
 * Without, they are hashes.
 */
export function formatBlock(block: Block, receipts: readonly Receipt[] | undefined): JsonRecord {
  const { header, transactions, withdrawals, sizeBytes } = block
  return {
    ...formatHeader(header),
    size: toQuantity(sizeBytes),
    transactions: transactions.map((transaction, index) =>
      receipts === undefined
        ? transaction.hash
        : formatTransaction(transaction, { header, index, receipt: receipts[index] }),
    ),
    uncles: [],
    ...(withdrawals === undefined
      ? {}
      : {
          withdrawals: withdrawals.map(({ index, validatorIndex, address, amount }) => ({
            index: toQuantity(index),
            validatorIndex: toQuantity(validatorIndex),
            address,
            amount: toQuantity(amount),
          })),
        }),
  }
}
