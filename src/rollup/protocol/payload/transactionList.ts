import { EMPTY_BYTES } from '../../../lib/bytes.ts'
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
export class PackedTransactions implements TransactionList {
  readonly length: number
  private readonly bytes: Uint8Array
  /** Start and end of each transaction. */
  private readonly bounds: Uint32Array
  private readonly marked: MarkedTransactions | undefined

  /** Takes over the marks of the transactions, if they are known. */
  constructor(bytes: Uint8Array, bounds: Uint32Array, marked?: MarkedTransactions) {
    this.length = bounds.length / 2
    this.bytes = bytes
    this.bounds = bounds
    this.marked = marked
  }

  at(index: number): Uint8Array | undefined {
    if (index < 0 || index >= this.length) return undefined
    return this.bytes.subarray(this.bounds[index * 2], this.bounds[index * 2 + 1])
  }

  slice(start = 0, end = this.length): Uint8Array[] {
    const views: Uint8Array[] = []
    for (let index = start; index < Math.min(end, this.length); index++) views.push(this.at(index) ?? EMPTY_BYTES)
    return views
  }

  /** The transactions from `first` to before `end`. */
  part(first: number, end: number): PackedTransactions {
    return new PackedTransactions(this.bytes, this.bounds.subarray(first * 2, end * 2))
  }

  marks(): MarkedTransactions {
    if (this.marked !== undefined) return this.marked
    const marks = noMarks()
    for (let index = 0; index < this.length; index++) {
      const start = this.bounds[index * 2] ?? 0
      markTransaction(marks, index, start === this.bounds[index * 2 + 1] ? undefined : this.bytes[start])
    }
    return marks
  }
}

export function marksOf(transactions: TransactionList): MarkedTransactions {
  if (transactions instanceof PackedTransactions) return transactions.marks()
  const marks = noMarks()
  for (let index = 0; index < transactions.length; index++) markTransaction(marks, index, transactions.at(index)?.[0])
  return marks
}
