import { readTransactions, transactionCount } from '../payload/payloadSsz.ts'
import type { ExecutionPayload } from '../types.ts'

const lists = new WeakMap<ExecutionPayload, Uint8Array>()

/**
 * Returns the payload with transactions that are decoded on first access. A hostile list may have 2^16 transactions of
 * one byte, and most such blocks are never read. `list` is the SSZ list of the container, already checked with
 * `checkTransactions`.
 */
export function withUnreadTransactions(payload: ExecutionPayload, list: Uint8Array): ExecutionPayload {
  let transactions: Uint8Array[] | undefined
  const unread = {
    ...payload,
    get transactions() {
      transactions ??= readTransactions(list)
      return transactions
    },
  }
  lists.set(unread, list)
  return unread
}

/** The number and total bytes of a payload's transactions, without decoding them. */
export function transactionTotals(payload: ExecutionPayload): { count: number; bytes: number } {
  const list = lists.get(payload)
  if (list === undefined) {
    const { transactions } = payload
    return { count: transactions.length, bytes: transactions.reduce((sum, { length }) => sum + length, 0) }
  }
  const count = transactionCount(list)
  // Each transaction has an offset of 4 bytes.
  return { count, bytes: list.length - 4 * count }
}

/** Whether a block has more transactions than the L1-info deposit, which every block has. */
export function hasMoreThanL1Info(transactionCount: number): boolean {
  return transactionCount > 1
}
