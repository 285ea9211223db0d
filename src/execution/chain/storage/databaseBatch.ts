import { bigIntToBytes, equalBytes } from '../../../lib/bytes.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { encodePosition, type TransactionPosition } from './chainReads.ts'
import { packHeader } from './storedHeader.ts'

/** One table a leading byte; the keys are hashes unless said otherwise. */
export const TABLE = {
  /** Encoded trie nodes, by `nodeKey`. */
  node: 'n',
  /** Lives of a node beyond the first (u32); see NodeHistory. */
  extraLives: 'x',
  /** u64 number ‖ block hash → NodeDelta of a block whose state is on the disk. */
  delta: 'd',
  /** A leaf of the flat state, by the key of its StateLeaf. */
  leaf: 'l',
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
  /** By name: labels and the chain's configuration. */
  meta: 'm',
} as const
export type Table = keyof typeof TABLE

export type Label = 'head' | 'safe' | 'finalized' | 'genesis'

/** Keys of the table of names. */
export const CLOSED_KEY = 'closed'
export const FLAT_KEY = 'flat'

/** Puts and deletes that become visible together. */
export class DatabaseBatch {
  readonly operations: ({ type: 'put'; key: Uint8Array; value: Uint8Array } | { type: 'del'; key: Uint8Array })[] = []

  put(table: Table, key: Uint8Array, value: Uint8Array): void {
    this.operations.push({ type: 'put', key: keyOf(table, key), value })
  }

  delete(table: Table, key: Uint8Array): void {
    this.operations.push({ type: 'del', key: keyOf(table, key) })
  }

  /** What it puts there. */
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

  /** Whose state the leaves are. */
  setFlatBlock(hash: Hex): void {
    this.put('meta', textKey(FLAT_KEY), fromHex(hash, 32))
  }

  /** The last thing that is written before the database is closed. */
  setClosed(): void {
    this.put('meta', textKey(CLOSED_KEY), Uint8Array.of(1))
  }
}

export function keyOf(table: Table, key: Uint8Array): Uint8Array {
  // Outside of V8's heap, where the database asks for it.
  const place = Buffer.allocUnsafe(1 + key.length)
  place[0] = TABLE[table].charCodeAt(0)
  place.set(key, 1)
  return place
}

export function numberKey(number: number): Uint8Array {
  return bigIntToBytes(BigInt(number), 8)
}

export function textKey(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text))
}
