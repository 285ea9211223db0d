import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import { runNow, type SlicedTask } from '../../../lib/slicedTask.ts'
import {
  type MarkedTransactions,
  markTransaction,
  noMarks,
  PackedTransactions,
  type TransactionList,
} from '../payload/transactionList.ts'

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
  const transactions = new ListedTransactions(bytes)
  let position = cursor.start
  while (position < end) {
    cursor.transaction = transactions.length
    cursor.readString(position, end, 'encoding')
    transactions.add(cursor.start, cursor.end)
    position = cursor.end
    if (transactions.length % TRANSACTIONS_PER_STEP === 0) yield
  }
  return { type: 'singular', parentHash, epochNumber, epochHash, timestamp, transactions }
}

/** Reads a 64-bit integer, the item after the cursor's item. */
function readUint64(cursor: RlpCursor, limit: number, what: string): number {
  cursor.readInteger(cursor.end, limit, 8, what)
  let value = 0
  for (let i = cursor.start; i < cursor.end; i++) value = value * 256 + (cursor.data[i] ?? 0)
  return value
}

const CHUNK = 1 << 16

/** The bounds of a batch's transactions, stored in chunks so that they need not be copied when the list grows. */
class ListedTransactions extends PackedTransactions {
  private readonly bytes: Uint8Array
  private readonly bounds: Uint32Array[] = []
  private readonly marked = noMarks()
  private count = 0

  constructor(bytes: Uint8Array) {
    super()
    this.bytes = bytes
  }

  get length(): number {
    return this.count
  }

  add(start: number, end: number): void {
    const place = this.count % CHUNK
    // The first chunk grows, because most batches have few transactions.
    if (place === 0) this.bounds.push(new Uint32Array(this.count === 0 ? 32 : CHUNK * 2))
    let piece = this.bounds.at(-1)
    if (piece === undefined) return
    if (place * 2 >= piece.length) {
      const grown = new Uint32Array(piece.length * 2)
      grown.set(piece)
      piece = grown
      this.bounds[this.bounds.length - 1] = grown
    }
    piece[place * 2] = start
    piece[place * 2 + 1] = end
    markTransaction(this.marked, this.count, start === end ? undefined : this.bytes[start])
    this.count++
  }

  at(index: number): Uint8Array | undefined {
    if (index < 0 || index >= this.count) return undefined
    const piece = this.bounds[Math.floor(index / CHUNK)]
    const place = (index % CHUNK) * 2
    return this.bytes.subarray(piece?.[place], piece?.[place + 1])
  }

  marks(): MarkedTransactions {
    return this.marked
  }
}
