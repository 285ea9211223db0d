import { readTransactions, transactionCount } from '../payload/payloadSsz.ts'
import type { ExecutionPayload } from '../types.ts'

const lists = new WeakMap<ExecutionPayload, Uint8Array>()

/**
 * The payload with the transactions of a list, the container's, that are not read before someone asks for them: a hostile
 * list has 2^16 of a byte each, and most such blocks are never asked for theirs. `list` must be one that can be read
 * (`checkTransactions`).
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

/** How many transactions a payload has, and their bytes in all; none is read for it. */
export function transactionTotals(payload: ExecutionPayload): { count: number; bytes: number } {
  const list = lists.get(payload)
  if (list === undefined) {
    const { transactions } = payload
    return { count: transactions.length, bytes: transactions.reduce((sum, { length }) => sum + length, 0) }
  }
  const count = transactionCount(list)
  // Each has an offset of 4 bytes.
  return { count, bytes: list.length - 4 * count }
}

/** Whether a block of so many transactions has more than the L1 attributes deposit, with which every block begins. */
export function hasMoreThanL1Info(transactionCount: number): boolean {
  return transactionCount > 1
}
