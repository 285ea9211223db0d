import { bytesToText } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'

// The entries of a state. Their keys name places, not contents: a later state has another value under the same key.

/**
 * A database key, one character for each byte. The first character is the kind of the entry:
 * - `A`: node of the account trie; nibbles of its path follow
 * - `O`: node of a storage trie; hash of the account's address and path follow
 * - `a`: account; hash of its address follows
 * - `o`: slot; hashes of the address and of the slot follow
 */
export type StateKey = string

/** Values by key; null deletes the value. */
export type StateWrites = ReadonlyMap<StateKey, Uint8Array | null>

export interface StateChanges {
  root: Hex
  /** Encoded trie nodes, encoded accounts, and slots. */
  writes: Map<StateKey, Uint8Array | null>
  codes: { hash: Uint8Array; code: Uint8Array }[]
}

/** Key of the account trie's root node. */
export const ROOT_KEY: StateKey = 'A'

/** Prefix of the keys of a trie's nodes; their paths follow. `owner` is the hash of an account's address. */
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
