import { concatBytes, EMPTY_BYTES, equalBytes } from '../../lib/bytes.ts'
import { toHex } from '../../lib/hex.ts'
import { decodeAccount, EMPTY_STORAGE_ROOT } from './account.ts'
import { MissingNodeError, type StateStore } from './stateDatabase.ts'
import type { NodeReader } from './trie.ts'
import { decodeNode, fromNibbles, HashNode, type LoadedNode, type TrieNode } from './trieNode.ts'

/** A leaf in which two tries differ: its key, and what they hold there (null: nothing). */
export interface LeafDifference {
  key: Uint8Array
  before: Uint8Array | null
  after: Uint8Array | null
}

/** A leaf of a state: under the hash of an address an account, under that and the hash of a slot a value, both in RLP. */
export interface StateLeaf {
  /** 32 or 64 bytes. */
  key: Uint8Array
  /** null: there is none. */
  value: Uint8Array | null
}

/** A node without the first nibbles of its key. */
interface Cursor<Node extends TrieNode = TrieNode> {
  node: Node
  skipped: number
}

interface Place {
  /** Nibbles. */
  path: Uint8Array
  before: Cursor | null
  after: Cursor | null
}

/**
 * What turns the state under one root into that under another, in the order of the keys. Reads what differs only, and
 * keeps nothing in memory: from the empty trie it tells of every leaf. Throws MissingNodeError.
 */
export function* stateDifference(
  store: Pick<StateStore, 'node'>,
  before: Uint8Array,
  after: Uint8Array,
): Generator<StateLeaf, void> {
  for (const account of trieDifference(readerOf(store), before, after)) {
    yield { key: account.key, value: account.after }
    const roots = [storageRootOf(account.before), storageRootOf(account.after)] as const
    for (const slot of trieDifference(readerOf(store, account.key), ...roots)) {
      yield { key: concatBytes(account.key, slot.key), value: slot.after }
    }
  }
}

/** The leaves in which two tries of one reader differ, in the order of their keys. */
export function* trieDifference(
  reader: NodeReader,
  before: Uint8Array,
  after: Uint8Array,
): Generator<LeafDifference, void> {
  const places: Place[] = [{ path: EMPTY_BYTES, before: cursorOf(before), after: cursorOf(after) }]
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    if (isSame(place.before, place.after)) continue
    const before = load(reader, place.before)
    const after = load(reader, place.after)
    const leaves = leavesAt(place.path, before, after)
    if (leaves !== undefined) {
      yield* leaves
      continue
    }
    for (let nibble = 15; nibble >= 0; nibble--) {
      const below = { before: childOf(before, nibble), after: childOf(after, nibble) }
      if (below.before === null && below.after === null) continue
      places.push({ path: concatBytes(place.path, Uint8Array.of(nibble)), ...below })
    }
  }
}

/** Where there is a leaf at most on each side; undefined where there is more. */
function leavesAt(
  path: Uint8Array,
  before: Cursor<LoadedNode> | null,
  after: Cursor<LoadedNode> | null,
): LeafDifference[] | undefined {
  const [first, second] = [leafOf(path, before), leafOf(path, after)]
  if (first === undefined || second === undefined) return undefined
  if (first !== null && second !== null && equalBytes(first.key, second.key)) {
    if (equalBytes(first.value, second.value)) return []
    return [{ key: first.key, before: first.value, after: second.value }]
  }
  const found: LeafDifference[] = []
  if (first !== null) found.push({ key: first.key, before: first.value, after: null })
  if (second !== null) found.push({ key: second.key, before: null, after: second.value })
  return found.sort((a, b) => Buffer.compare(a.key, b.key))
}

/** null: nothing is there; undefined: something else than a leaf. */
function leafOf(
  path: Uint8Array,
  cursor: Cursor<LoadedNode> | null,
): { key: Uint8Array; value: Uint8Array } | null | undefined {
  if (cursor === null) return null
  const { node, skipped } = cursor
  if (node.kind !== 'leaf') return undefined
  return { key: fromNibbles(concatBytes(path, node.key.subarray(skipped))), value: node.value }
}

function childOf(cursor: Cursor<LoadedNode> | null, nibble: number): Cursor | null {
  if (cursor === null) return null
  const { node, skipped } = cursor
  if (node.kind === 'branch') {
    const child = node.child(nibble)
    return child === null ? null : { node: child, skipped: 0 }
  }
  if (node.key[skipped] !== nibble) return null
  if (node.kind === 'leaf' || skipped + 1 < node.key.length) return { node, skipped: skipped + 1 }
  return { node: node.child, skipped: 0 }
}

function isSame(before: Cursor | null, after: Cursor | null): boolean {
  if (before === null || after === null || before.skipped !== after.skipped) return before === after
  const [first, second] = [before.node.ref, after.node.ref]
  return first !== null && second !== null && equalBytes(first, second)
}

function load(reader: NodeReader, cursor: Cursor | null): Cursor<LoadedNode> | null {
  if (cursor === null) return null
  const { node, skipped } = cursor
  if (node.kind !== 'hash') return { node, skipped }
  const loaded = decodeNode(reader.node(node.ref))
  loaded.ref = node.ref
  return { node: loaded, skipped }
}

function cursorOf(root: Uint8Array): Cursor | null {
  return equalBytes(root, EMPTY_STORAGE_ROOT) ? null : { node: new HashNode(root), skipped: 0 }
}

function storageRootOf(account: Uint8Array | null): Uint8Array {
  return account === null ? EMPTY_STORAGE_ROOT : decodeAccount(account).storageRoot
}

function readerOf(store: Pick<StateStore, 'node'>, owner?: Uint8Array): NodeReader {
  return {
    node(hash) {
      const encoding = store.node(hash, owner)
      if (encoding === undefined) throw new MissingNodeError('trie node', toHex(hash))
      return encoding
    },
  }
}
