import { bigIntToBytes, equalBytes } from '../../../lib/bytes.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { encodePosition, type TransactionPosition } from './chainReads.ts'
import { packHeader } from './storedHeader.ts'

/** The first byte of a key is its table. Keys are hashes unless noted. */
export const TABLE = {
  /** Encoded trie nodes of all states. Archive mode only. */
  node: 'n',
  // The keys of the base state are StateKeys: A, O, a, o. See StateDisk, also for the next two tables.
  replaced: 'u',
  replacedBlock: 'U',
  code: 'c',
  /** See storedHeader. */
  header: 'h',
  /** Transactions and their senders; see bodyCodec. */
  body: 'b',
  receipts: 'r',
  /** u64 number → hash of the canonical block. */
  canonical: 'N',
  /** Transaction hash → block hash ‖ u32 index, canonical blocks only. */
  transaction: 't',
  /** Labels and the chain's configuration, by name. */
  meta: 'm',
} as const
export type Table = keyof typeof TABLE

export type Label = 'head' | 'safe' | 'finalized' | 'genesis'

/** Names in the table `meta`. */
export const CLOSED_KEY = 'closed'
export const BASE_KEY = 'state'

/** Puts and deletes that are written atomically. */
export class DatabaseBatch {
  readonly operations: ({ type: 'put'; key: Uint8Array; value: Uint8Array } | { type: 'del'; key: Uint8Array })[] = []

  put(table: Table, key: Uint8Array, value: Uint8Array): void {
    this.putPlace(keyOf(table, key), value)
  }

  /** Like `put`, but `key` already contains the table's prefix. */
  putPlace(key: Uint8Array, value: Uint8Array): void {
    this.operations.push({ type: 'put', key, value })
  }

  delete(table: Table, key: Uint8Array): void {
    this.operations.push({ type: 'del', key: keyOf(table, key) })
  }

  valueAt(place: Uint8Array): Uint8Array | undefined {
    for (const operation of this.operations) {
      if (operation.type === 'put' && equalBytes(operation.key, place)) return operation.value
    }
    return undefined
  }

  putHeader(hash: Uint8Array, encoding: Uint8Array): void {
    this.put('header', hash, packHeader(encoding))
  }

  setCanonical(number: number, hash: Hex): void {
    this.put('canonical', numberKey(number), fromHex(hash, 32))
  }

  removeCanonical(number: number): void {
    this.delete('canonical', numberKey(number))
  }

  setTransaction(hash: Hex, position: TransactionPosition): void {
    this.put('transaction', fromHex(hash, 32), encodePosition(position))
  }

  removeTransaction(hash: Hex): void {
    this.delete('transaction', fromHex(hash, 32))
  }

  setLabel(label: Label, hash: Hex): void {
    this.put('meta', textKey(label), fromHex(hash, 32))
  }

  /** Sets the block whose state is the base. */
  setBase(hash: Hex): void {
    this.put('meta', textKey(BASE_KEY), fromHex(hash, 32))
  }

  /** The last write before the database is closed. */
  setClosed(): void {
    this.put('meta', textKey(CLOSED_KEY), Uint8Array.of(1))
  }
}

export function keyOf(table: Table, key: Uint8Array): Uint8Array {
  // Allocated outside of V8's heap, as LevelDB needs it.
  const place = Buffer.allocUnsafe(1 + key.length)
  place[0] = TABLE[table].charCodeAt(0)
  place.set(key, 1)
  return place
}

/** The range of all keys with this first character. */
export function tableRange(letter: string): { gte: Uint8Array; lt: Uint8Array } {
  const code = letter.charCodeAt(0)
  return { gte: Uint8Array.of(code), lt: Uint8Array.of(code + 1) }
}

export function numberKey(number: number): Uint8Array {
  return bigIntToBytes(BigInt(number), 8)
}

export function textKey(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text))
}
