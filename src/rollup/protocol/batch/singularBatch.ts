import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import { runNow, type SlicedTask } from '../../../lib/slicedTask.ts'
import { markTransaction, noMarks, PackedTransactions, type TransactionList } from '../payload/transactionList.ts'

export const SINGULAR_BATCH_TYPE = 0

/** One L2 block without its deposits (specs: derivation, "Batch format"). */
export interface SingularBatch {
  type: 'singular'
  parentHash: Hex
  /** Block number of the L1 origin. Not exact above 2^53, where no rule accepts it. */
  epochNumber: number
  epochHash: Hex
  /** Not exact above 2^53. */
  timestamp: number
  transactions: TransactionList
}

/** Number of transactions before the decoder yields to the event loop. */
const TRANSACTIONS_PER_STEP = 50_000

/** Batch type byte and RLP. A channel contains this as an RLP string. */
export function encodeSingularBatch(batch: Omit<SingularBatch, 'type'>): Uint8Array {
  const content = encodeRlp([
    fromHex(batch.parentHash, 32, 'parent hash'),
    batch.epochNumber,
    fromHex(batch.epochHash, 32, 'epoch hash'),
    batch.timestamp,
    batch.transactions.slice(),
  ])
  return concatBytes(Uint8Array.of(SINGULAR_BATCH_TYPE), content)
}

/** Like `singularBatchSteps`, without yielding. The transactions are an array of views into the input. */
export function decodeSingularBatch(bytes: Uint8Array): SingularBatch & { transactions: Uint8Array[] } {
  const batch = runNow(singularBatchSteps(bytes))
  return { ...batch, transactions: batch.transactions.slice() }
}

/** Ignores bytes after the list, as op-node does. Throws DecodeError; op-node then drops the rest of the channel. */
export function* singularBatchSteps(bytes: Uint8Array): SlicedTask<SingularBatch> {
  if (bytes[0] !== SINGULAR_BATCH_TYPE) throw new DecodeError(`singular batch: type byte is ${bytes[0]}`)
  const cursor = new RlpCursor(bytes, 'singular batch')
  cursor.readList(1, bytes.length)
  const { end } = cursor
  cursor.readFixed(cursor.start, end, 32, 'parent hash')
  const parentHash = toHex(bytes.subarray(cursor.start, cursor.end))
  const epochNumber = readUint64(cursor, end, 'epoch number')
  cursor.readFixed(cursor.end, end, 32, 'epoch hash')
  const epochHash = toHex(bytes.subarray(cursor.start, cursor.end))
  const timestamp = readUint64(cursor, end, 'timestamp')
  cursor.readList(cursor.end, end, 'transactions')
  if (cursor.end !== end) throw cursor.fault(undefined, 'more than five fields', cursor.end)
  const listStart = cursor.start
  let count = 0
  for (cursor.end = listStart; cursor.end < end; count++) {
    cursor.transaction = count
    cursor.nextString(end, 'encoding')
    if (count % TRANSACTIONS_PER_STEP === TRANSACTIONS_PER_STEP - 1) yield
  }
  // A second pass, because a list that grows to a hundred million bounds would be copied.
  const bounds = new Uint32Array(count * 2)
  const marks = noMarks()
  cursor.end = listStart
  for (let index = 0; index < count; index++) {
    const { start, end: next } = cursor.nextString(end)
    bounds[index * 2] = start
    bounds[index * 2 + 1] = next
    markTransaction(marks, index, start === next ? undefined : bytes[start])
    if (index % TRANSACTIONS_PER_STEP === TRANSACTIONS_PER_STEP - 1) yield
  }
  const transactions = new PackedTransactions(bytes, bounds, marks)
  return { type: 'singular', parentHash, epochNumber, epochHash, timestamp, transactions }
}

/** Reads a 64-bit integer, the item after the cursor's item. */
function readUint64(cursor: RlpCursor, limit: number, what: string): number {
  cursor.readInteger(cursor.end, limit, 8, what)
  let value = 0
  for (let i = cursor.start; i < cursor.end; i++) value = value * 256 + (cursor.data[i] ?? 0)
  return value
}
