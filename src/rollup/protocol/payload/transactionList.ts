import { DEPOSIT_TX_TYPE, POST_EXEC_TYPE_BYTE } from '../transaction/fields.ts'

/**
 * Encoded transactions. A plain array is one implementation. A batch may claim tens of millions, so its implementation
 * creates views on access.
 */
export interface TransactionList {
  readonly length: number
  at(index: number): Uint8Array | undefined
  slice(start?: number, end?: number): Uint8Array[]
}

/** Index of the first transaction with each first byte that batch rules check; undefined if there is none. */
export interface MarkedTransactions {
  empty: number | undefined
  deposit: number | undefined
  setCode: number | undefined
  postExec: number | undefined
}

const SET_CODE_TYPE_BYTE = 4

/** Updates the marks for the transaction at `index`, whose first byte is `first`; undefined = empty transaction. */
export function markTransaction(marks: MarkedTransactions, index: number, first: number | undefined): void {
  if (first === undefined) marks.empty ??= index
  else if (first === DEPOSIT_TX_TYPE) marks.deposit ??= index
  else if (first === SET_CODE_TYPE_BYTE) marks.setCode ??= index
  else if (first === POST_EXEC_TYPE_BYTE) marks.postExec ??= index
}

export function noMarks(): MarkedTransactions {
  return { empty: undefined, deposit: undefined, setCode: undefined, postExec: undefined }
}

/** Transactions in one buffer. Views are created on access. */
export abstract class PackedTransactions implements TransactionList {
  abstract readonly length: number
  abstract at(index: number): Uint8Array | undefined
  abstract marks(): MarkedTransactions

  slice(start = 0, end = this.length): Uint8Array[] {
    const views: Uint8Array[] = []
    for (let index = start; index < Math.min(end, this.length); index++) views.push(this.at(index) ?? NOTHING)
    return views
  }
}

export function marksOf(transactions: TransactionList): MarkedTransactions {
  if (transactions instanceof PackedTransactions) return transactions.marks()
  const marks = noMarks()
  for (let index = 0; index < transactions.length; index++) markTransaction(marks, index, transactions.at(index)?.[0])
  return marks
}

const NOTHING = new Uint8Array(0)
