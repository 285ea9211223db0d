import { bytesToText } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'

// What a state consists of, by keys that name places, not contents: a later state has another value under the same key.

/**
 * A key of the database, one character a byte. Its first one tells what it names: a node of the account trie (A, and the
 * nibbles of its path), one of a storage trie (O, the hash of the account's address, path), an account (a, hash of its
 * address), a slot (o, hash of the address, hash of the slot).
 */
export type StateKey = string

/** By key; null: there is none any more. */
export type StateWrites = ReadonlyMap<StateKey, Uint8Array | null>

/** What a commit changes. */
export interface StateChanges {
  root: Hex
  /** Encoded nodes of the tries, encoded accounts, and slots. */
  writes: Map<StateKey, Uint8Array | null>
  codes: { hash: Uint8Array; code: Uint8Array }[]
}

/** The node that the account trie begins with. */
export const ROOT_KEY: StateKey = 'A'

/** What the keys of a trie's nodes begin with: their paths follow. `owner` is the hash of an account's address. */
export function nodePrefix(owner: Uint8Array | undefined): StateKey {
  return owner === undefined ? ROOT_KEY : `O${bytesToText(owner, 'latin1')}`
}

export function accountKey(addressHash: Uint8Array): StateKey {
  return `a${bytesToText(addressHash, 'latin1')}`
}

export function slotKey(addressHash: Uint8Array, slotHash: Uint8Array): StateKey {
  return `o${bytesToText(addressHash, 'latin1')}${bytesToText(slotHash, 'latin1')}`
}

export function isNodeKey(key: StateKey): boolean {
  return key.startsWith('A') || key.startsWith('O')
}

export function bytesOfKey(key: StateKey): Uint8Array {
  const bytes = Buffer.from(key, 'latin1')
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
