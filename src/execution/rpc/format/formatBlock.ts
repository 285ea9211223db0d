import { toQuantity } from '../../../lib/hex.ts'
import type { Block, BlockHeader, Receipt } from '../../primitives/block.ts'
import { formatTransaction } from './formatTransaction.ts'
import { type JsonRecord, withQuantities } from './quantities.ts'

/** op-geth's JSON of a header, as in eth_getHeaderByNumber and the block methods. */
export function formatHeader({ unclesHash: sha3Uncles, coinbase: miner, ...header }: BlockHeader): JsonRecord {
  return withQuantities({ ...header, sha3Uncles, miner })
}

/**
 * op-geth's JSON of a block. With `receipts`, transactions are full objects (deposits need their receipt's nonce).
 * Without, they are hashes.
 */
export function formatBlock(block: Block, receipts: readonly Receipt[] | undefined): JsonRecord {
  const { header, transactions, sizeBytes } = block
  return {
    ...formatHeader(header),
    size: toQuantity(sizeBytes),
    transactions: transactions.map((transaction, index) =>
      receipts === undefined
        ? transaction.hash
        : formatTransaction(transaction, { header, index, receipt: receipts[index] }),
    ),
    uncles: [],
    // Blocks have a withdrawals list from Canyon on. On OP chains it is always empty.
    ...(header.withdrawalsRoot === undefined ? {} : { withdrawals: [] }),
  }
}
