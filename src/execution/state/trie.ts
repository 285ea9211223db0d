import { bytesToText, concatBytes, EMPTY_BYTES, equalBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import { keccak256Many } from '../../lib/wasm/manyHashes.ts'
import { EMPTY_TRIE_ROOT } from '../../rollup/protocol/constants.ts'
import {
  BranchNode,
  decodeNode,
  ExtensionNode,
  encodeNode,
  HashNode,
  LeafNode,
  type LoadedNode,
  requireRef,
  type TrieNode,
  toNibbles,
} from './trieNode.ts'

/** Nibbles from the root to a node, one character each. */
export type NodePath = string

export interface NodeReader {
  /** Throws MissingNodeError if there is no node with this hash. */
  node(path: NodePath, hash: Uint8Array): Uint8Array
}

/**
 * Called for each new node that has a hash. Called with null for each path whose node was removed, before a new node is
 * put there.
 */
export type NodeSink = (path: NodePath, encoding: Uint8Array | null) => void

/**
 * A Merkle Patricia trie over keys of equal length, hashed by the caller. Changes stay in memory until `commit` hashes
 * them. Unchanged nodes are shared with earlier tries.
 */
export class Trie {
  private readonly reader: NodeReader
  private root: TrieNode | null
  /** Paths whose node was removed since the last commit. */
  private vacated: NodePath[] = []

  constructor(reader: NodeReader, root: TrieNode | null) {
    this.reader = reader
    this.root = root
  }

  /** The root node, to be shared with another Trie. It is hashed only after `commit`. */
  rootNode(): TrieNode | null {
    return this.root
  }

  readRoot(): void {
    this.loadedRoot()
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.walk(key)?.value
  }

  /** @param value not empty: use `delete` */
  put(key: Uint8Array, value: Uint8Array): void {
    this.root = this.insert(this.loadedRoot(), toNibbles(key), 0, value)
  }

  delete(key: Uint8Array): void {
    this.root = this.remove(this.loadedRoot(), toNibbles(key), 0)
  }

  /**
   * Visits each node, with the nibbles on the path to it. A node's `ref` is its hash if it has one. Reads the whole
   * trie. The trie must be committed.
   */
  forEachNode(visitNode: (node: LoadedNode, above: Uint8Array) => void): void {
    const visit = (node: LoadedNode | null, above: Uint8Array): void => {
      if (node === null) return
      visitNode(node, above)
      if (node.kind === 'extension') visit(this.onlyChild(node, above, above.length), concatBytes(above, node.key))
      if (node.kind !== 'branch') return
      for (let index = 0; index < 16; index++) {
        visit(this.childAt(node, index, above, above.length), concatBytes(above, Uint8Array.of(index)))
      }
    }
    visit(this.loadedRoot(), EMPTY_BYTES)
  }

  /** Hashes the changed nodes bottom up, and passes each new node to `sink`. Returns the root hash. */
  commit(sink: NodeSink): Hex {
    const { root } = this
    for (const path of this.vacated) sink(path, null)
    this.vacated = []
    if (root === null) return EMPTY_TRIE_ROOT
    if (root.kind === 'hash') return toHex(root.ref)
    for (const level of this.changedLevels(root).reverse()) this.hashLevel(level, sink)
    const ref = requireRef(root)
    if (ref.length === 32) return toHex(ref)
    // The root is stored even if it is short enough to be embedded.
    const hash = keccak256(ref)
    sink('', ref)
    return toHex(hash)
  }

  /**
   * Encodings of the nodes on the path to the key, root first, even if the key is absent. The trie must be committed.
   */
  prove(key: Uint8Array): Uint8Array[] {
    const proof: Uint8Array[] = []
    this.walk(key, (node) => {
      const encoding = encodeNode(node)
      if (proof.length === 0 || encoding.length >= 32) proof.push(encoding)
    })
    return proof
  }

  /** Visits the nodes on the path to the key. Returns its leaf. */
  private walk(key: Uint8Array, visit?: (node: LoadedNode) => void): LeafNode | undefined {
    const nibbles = toNibbles(key)
    let node = this.loadedRoot()
    let depth = 0
    while (node !== null) {
      visit?.(node)
      if (node.kind === 'leaf') return endsWith(nibbles, depth, node.key) ? node : undefined
      if (node.kind === 'extension') {
        if (!matchesAt(nibbles, depth, node.key)) return undefined
        const matched = node.key.length
        node = this.onlyChild(node, nibbles, depth)
        depth += matched
      } else node = this.childAt(node, nibbles[depth] ?? 0, nibbles, depth++)
    }
    return undefined
  }

  /** The changed nodes by level. Nodes below an unchanged node are unchanged. */
  private changedLevels(root: LoadedNode): Place[][] {
    const levels: Place[][] = []
    let level: Place[] = root.ref === null ? [{ node: root, path: '' }] : []
    while (level.length > 0) {
      levels.push(level)
      const below: Place[] = []
      const add = (child: TrieNode | null, path: NodePath): void => {
        if (child !== null && child.kind !== 'hash' && child.ref === null) below.push({ node: child, path })
      }
      for (const { node, path } of level) {
        if (node.kind === 'extension') add(node.child, path + pathText(node.key, node.key.length))
        if (node.kind !== 'branch') continue
        for (let index = 0; index < 16; index++) {
          if (node.isChanged(index)) add(node.child(index), path + NIBBLES[index])
        }
      }
      level = below
    }
    return levels
  }

  /** Hashes the nodes of one level. Their children already have a `ref`. */
  private hashLevel(level: readonly Place[], sink: NodeSink): void {
    const encoded: (Place & { encoding: Uint8Array })[] = []
    for (const { node, path } of level) {
      const encoding = encode(node)
      if (encoding !== undefined) encoded.push({ node, path, encoding })
      // A longer node may have been stored there.
      else sink(path, null)
    }
    const hashes = keccak256Many(encoded.map(({ encoding }) => encoding))
    for (const [index, { node, path, encoding }] of encoded.entries()) {
      node.ref = hashes[index] ?? null
      sink(path, encoding)
    }
  }

  private load(node: HashNode, path: NodePath): LoadedNode {
    const loaded = decodeNode(this.reader.node(path, node.ref))
    loaded.ref = node.ref
    return loaded
  }

  // A loaded node replaces its HashNode in the parent, even in a shared parent: both stand for the same content. The
  // first `depth` nibbles of `key` lead to the parent.

  private loadedRoot(): LoadedNode | null {
    if (this.root === null || this.root.kind !== 'hash') return this.root
    const loaded = this.load(this.root, '')
    this.root = loaded
    return loaded
  }

  private childAt(node: BranchNode, index: number, key: Uint8Array, depth: number): LoadedNode | null {
    const child = node.child(index)
    if (child?.kind !== 'hash') return child
    const loaded = this.load(child, pathText(key, depth) + NIBBLES[index])
    node.children[index] = loaded
    return loaded
  }

  private onlyChild(node: ExtensionNode, key: Uint8Array, depth: number): LoadedNode {
    if (node.child.kind !== 'hash') return node.child
    const loaded = this.load(node.child, pathText(key, depth) + pathText(node.key, node.key.length))
    node.child = loaded
    return loaded
  }

  private insert(node: LoadedNode | null, key: Uint8Array, depth: number, value: Uint8Array): LoadedNode {
    if (node === null) return new LeafNode(key.subarray(depth), value)
    if (node.kind === 'branch') {
      const index = key[depth] ?? 0
      const child = this.childAt(node, index, key, depth)
      const next = this.insert(child, key, depth + 1, value)
      // The same object: nothing changed, or it was already changed since the last commit, and so was this node.
      return next === child ? node : withChild(node, index, next)
    }
    const shared = sharedPrefix(key, depth, node.key)
    if (shared === node.key.length) {
      if (node.kind === 'leaf') {
        return equalBytes(node.value, value) ? node : new LeafNode(node.key, value)
      }
      const child = this.onlyChild(node, key, depth)
      const next = this.insert(child, key, depth + shared, value)
      return next === child ? node : new ExtensionNode(node.key, next)
    }
    const branch = BranchNode.empty()
    branch.setChild(node.key[shared] ?? 0, shorten(node, shared + 1))
    branch.setChild(key[depth + shared] ?? 0, new LeafNode(key.subarray(depth + shared + 1), value))
    return shared === 0 ? branch : new ExtensionNode(key.subarray(depth, depth + shared), branch)
  }

  private remove(node: LoadedNode | null, key: Uint8Array, depth: number): LoadedNode | null {
    if (node === null) return null
    if (node.kind === 'leaf') {
      if (!endsWith(key, depth, node.key)) return node
      this.vacated.push(pathText(key, depth))
      return null
    }
    if (node.kind === 'extension') {
      if (!matchesAt(key, depth, node.key)) return node
      const child = this.onlyChild(node, key, depth)
      const below = depth + node.key.length
      const next = this.remove(child, key, below)
      if (next === child) return node
      // A branch below an extension keeps at least one child.
      if (next === null) return null
      if (next.kind !== 'branch') this.vacated.push(pathText(key, below))
      return prefix(node.key, next)
    }
    const index = key[depth] ?? 0
    const child = this.childAt(node, index, key, depth)
    const next = this.remove(child, key, depth + 1)
    if (next === child) return node
    if (next !== null) return withChild(node, index, next)
    let last = -1
    for (let i = 0; i < 16; i++) {
      if (i === index || !node.has(i)) continue
      if (last !== -1) return withChild(node, index, null)
      last = i
    }
    const only = last === -1 ? null : this.childAt(node, last, key, depth)
    if (only === null) return null
    // A leaf or extension moves up to the path of the branch.
    if (only.kind !== 'branch') this.vacated.push(pathText(key, depth) + NIBBLES[last])
    return prefix(Uint8Array.of(last), only)
  }
}

/** A node and the path to it. */
interface Place {
  node: LoadedNode
  path: NodePath
}

const NIBBLES = Array.from({ length: 16 }, (_, nibble) => String.fromCharCode(nibble))

function pathText(nibbles: Uint8Array, length: number): NodePath {
  return length === 0 ? '' : bytesToText(nibbles.subarray(0, length), 'latin1')
}

function withChild(node: BranchNode, index: number, child: TrieNode | null): BranchNode {
  const target = node.ref === null ? node : node.copy()
  target.setChild(index, child)
  return target
}

/** Prepends nibbles to the node's path. Leaves and extensions absorb them. */
function prefix(nibbles: Uint8Array, node: LoadedNode): LoadedNode {
  if (node.kind === 'branch') return new ExtensionNode(nibbles, node)
  if (node.kind === 'leaf') return new LeafNode(concatBytes(nibbles, node.key), node.value)
  return new ExtensionNode(concatBytes(nibbles, node.key), node.child)
}

/** The encoding to hash. Undefined if the node is short enough to be embedded in its parent. */
function encode(node: LoadedNode): Uint8Array | undefined {
  const encoding = encodeNode(node)
  if (node.kind === 'branch') node.setEncoding(encoding)
  if (encoding.length >= 32) return encoding
  node.ref = encoding
  return undefined
}

/** Opens the trie with this root. Nothing is read yet. */
export function openTrie(reader: NodeReader, root: Uint8Array): Trie {
  return new Trie(reader, toHex(root) === EMPTY_TRIE_ROOT ? null : new HashNode(root))
}

/** Removes the first `count` nibbles of the node's path. */
function shorten(node: LeafNode | ExtensionNode, count: number): TrieNode {
  const rest = node.key.subarray(count)
  if (node.kind === 'leaf') return new LeafNode(rest, node.value)
  return rest.length === 0 ? node.child : new ExtensionNode(rest, node.child)
}

function sharedPrefix(key: Uint8Array, depth: number, path: Uint8Array): number {
  let count = 0
  while (count < path.length && key[depth + count] === path[count]) count++
  return count
}

function matchesAt(key: Uint8Array, depth: number, path: Uint8Array): boolean {
  return sharedPrefix(key, depth, path) === path.length
}

function endsWith(key: Uint8Array, depth: number, path: Uint8Array): boolean {
  return key.length - depth === path.length && matchesAt(key, depth, path)
}
