import { EMPTY_BYTES, pooledCopy } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { decodeRlp, encodeRlpBriefly, type RlpInput, readRlpHeader } from '../../lib/rlp.ts'

// Nodes of a Merkle Patricia trie. All its keys have the same length (64 nibbles in state and storage tries), so
// branches never have a value. A node's `ref` is the part that its parent embeds: the 32-byte hash, or the node's
// encoding if that is shorter. A null `ref` marks a node that changed since the last commit. A changed node belongs to
// one trie and may be changed in place. All other nodes are shared and are copied first.

export class LeafNode {
  readonly kind = 'leaf'
  key: Uint8Array
  value: Uint8Array
  ref: Uint8Array | null = null
  constructor(key: Uint8Array, value: Uint8Array) {
    this.key = key
    this.value = value
  }
}

export class ExtensionNode {
  readonly kind = 'extension'
  key: Uint8Array
  child: TrieNode
  ref: Uint8Array | null = null
  constructor(key: Uint8Array, child: TrieNode) {
    this.key = key
    this.child = child
  }
}

/**
 * A branch that was read or hashed keeps its encoding. Children are decoded from it on demand. Encoding the branch
 * again copies the unchanged children.
 */
export class BranchNode {
  readonly kind = 'branch'
  /** undefined: not decoded from `encoding` yet. */
  readonly children: (TrieNode | null | undefined)[]
  ref: Uint8Array | null = null
  /** null for a branch that was never encoded. Then all children are in `children`. */
  encoding: Uint8Array | null
  /** One bit for each child that differs from `encoding`. */
  private changed: number

  private constructor(children: (TrieNode | null | undefined)[], encoding: Uint8Array | null, changed: number) {
    this.children = children
    this.encoding = encoding
    this.changed = changed
  }

  static empty(): BranchNode {
    return new BranchNode(new Array(CHILDREN).fill(null), null, 0)
  }

  static of(encoding: Uint8Array): BranchNode {
    return new BranchNode(new Array(CHILDREN).fill(undefined), encoding, 0)
  }

  /** A copy that may be changed. */
  copy(): BranchNode {
    return new BranchNode(this.children.slice(), this.encoding, this.changed)
  }

  has(index: number): boolean {
    const child = this.children[index]
    if (child !== undefined || this.encoding === null) return child !== null
    return this.encoding[itemAt(this.encoding, index)] !== EMPTY_ITEM
  }

  child(index: number): TrieNode | null {
    const known = this.children[index]
    if (known !== undefined || this.encoding === null) return known ?? null
    const position = itemAt(this.encoding, index)
    const child = this.encoding[position] === EMPTY_ITEM ? null : decodeChild(this.encoding, position)
    this.children[index] = child
    return child
  }

  allChildren(): (TrieNode | null)[] {
    return Array.from(this.children, (_, index) => this.child(index))
  }

  setChild(index: number, child: TrieNode | null): void {
    this.children[index] = child
    this.changed |= 1 << index
  }

  isChanged(index: number): boolean {
    return this.encoding === null || (this.changed & (1 << index)) !== 0
  }

  /** Call it after hashing. */
  setEncoding(encoding: Uint8Array): void {
    this.encoding = encoding
    this.changed = 0
  }
}

/** Stands for a node that is not loaded. */
export class HashNode {
  readonly kind = 'hash'
  readonly ref: Uint8Array
  constructor(hash: Uint8Array) {
    this.ref = hash
  }
}

const CHILDREN = 16
/** RLP of the empty string, and the prefix of a 32-byte hash. */
const EMPTY_ITEM = 0x80
const HASH_ITEM = 0xa0
const HASH_BYTES = 32

export type TrieNode = LeafNode | ExtensionNode | BranchNode | HashNode
export type LoadedNode = LeafNode | ExtensionNode | BranchNode

/** RLP of a node. All its children must have a `ref`. Callers must not change the result. */
export function encodeNode(node: LoadedNode): Uint8Array {
  if (node.kind === 'leaf') return encodeList([compactKey(node.key, true), node.value])
  if (node.kind === 'extension') return encodeList([compactKey(node.key, false), itemOf(node.child)])
  return replaceHashes(node) ?? encodeList([...node.allChildren().map(itemOf), EMPTY_BYTES])
}

/** In pooled memory, because there are many nodes. */
function encodeList(items: readonly RlpInput[]): Uint8Array {
  const encoding = encodeRlpBriefly(items)
  return pooledCopy(encoding, 0, encoding.length)
}

/** The part of a child that its parent embeds. Throws if the child is not hashed. */
function itemOf(child: TrieNode | null): RlpInput {
  if (child === null) return EMPTY_BYTES
  const ref = requireRef(child)
  return ref.length === HASH_BYTES ? ref : decodeRlp(ref)
}

/** Yellow Paper appendix C: hex-prefix encoding. */
function compactKey(nibbles: Uint8Array, isLeaf: boolean): Uint8Array {
  const { length } = nibbles
  const odd = length & 1
  const compact = new Uint8Array((length >> 1) + 1)
  compact[0] = (isLeaf ? 0x20 : 0) | (odd === 1 ? 0x10 | (nibbles[0] ?? 0) : 0)
  for (let i = odd; i < length; i += 2) compact[(i >> 1) + 1] = ((nibbles[i] ?? 0) << 4) | (nibbles[i + 1] ?? 0)
  return compact
}

/**
 * Fast path for nearly all branches: replaces hashes by hashes. Undefined if a child with another length is added or
 * removed.
 */
function replaceHashes(node: BranchNode): Uint8Array | undefined {
  const { encoding } = node
  if (encoding === null) return undefined
  let result = encoding
  let position = firstItem(encoding)
  for (let index = 0; index < CHILDREN; index++) {
    const isHash = encoding[position] === HASH_ITEM
    if (node.isChanged(index)) {
      const ref = node.child(index)?.ref
      if (!isHash || ref?.length !== HASH_BYTES) return undefined
      // LevelDB returns a Buffer, whose `slice` does not copy.
      if (result === encoding) result = pooledCopy(encoding, 0, encoding.length)
      result.set(ref, position + 1)
    }
    position += isHash ? 1 + HASH_BYTES : itemBytes(encoding, position)
  }
  return result
}

/** Throws if the node is not hashed. */
export function requireRef(node: TrieNode): Uint8Array {
  if (node.ref === null) throw new Error('trie node is not hashed')
  return node.ref
}

/** Decodes a node, which may keep `encoding`. The caller sets `ref`. Throws DecodeError. */
export function decodeNode(encoding: Uint8Array): LoadedNode {
  const list = readRlpHeader(encoding, 0)
  if (!list.isList) throw new DecodeError('trie node: not a list')
  let items = 0
  let second = 0
  for (let position = list.start; position < list.end; items++) {
    if (items === 1) second = position
    position += itemBytes(encoding, position)
  }
  if (items === CHILDREN + 1) return BranchNode.of(encoding)
  if (items !== 2) throw new DecodeError(`trie node: ${items} items`)
  const path = readRlpHeader(encoding, list.start)
  const flags = encoding[path.start] ?? 0
  const nibbles = expandKey(encoding.subarray(path.start, path.end))
  if ((flags & 0x20) === 0) return new ExtensionNode(nibbles, decodeChild(encoding, second))
  const value = readRlpHeader(encoding, second)
  return new LeafNode(nibbles, encoding.slice(value.start, value.end))
}

function decodeChild(encoding: Uint8Array, position: number): TrieNode {
  if (encoding[position] === HASH_ITEM) return new HashNode(encoding.slice(position + 1, position + 1 + HASH_BYTES))
  const item = readRlpHeader(encoding, position)
  if (!item.isList) {
    if (item.end - item.start !== HASH_BYTES) throw new DecodeError('trie node: child hash is not 32 bytes')
    return new HashNode(encoding.slice(item.start, item.end))
  }
  const inline = encoding.slice(position, item.end)
  const node = decodeNode(inline)
  node.ref = inline
  return node
}

/** Position of the first item of a valid list. */
function firstItem(encoding: Uint8Array): number {
  const first = encoding[0] ?? 0
  return first < 0xf8 ? 1 : first - 0xf6
}

/** Position of a child in a branch's encoding. */
function itemAt(encoding: Uint8Array, index: number): number {
  let position = firstItem(encoding)
  for (let before = 0; before < index; before++) position += itemBytes(encoding, position)
  return position
}

/** Length of an item with its header. Throws DecodeError. */
function itemBytes(encoding: Uint8Array, position: number): number {
  const first = encoding[position]
  if (first === EMPTY_ITEM) return 1
  if (first === HASH_ITEM && position + HASH_BYTES < encoding.length) return 1 + HASH_BYTES
  return readRlpHeader(encoding, position).end - position
}

function expandKey(compact: Uint8Array): Uint8Array {
  const first = compact[0]
  if (first === undefined) throw new DecodeError('trie node: empty path')
  const odd = (first & 0x10) !== 0
  const out = new Uint8Array(compact.length * 2 - (odd ? 1 : 2))
  let o = 0
  if (odd) out[o++] = first & 0x0f
  for (let i = 1; i < compact.length; i++) {
    const byte = compact[i] ?? 0
    out[o++] = byte >> 4
    out[o++] = byte & 0x0f
  }
  return out
}

/** The nibbles of a hashed key. */
export function toNibbles(key: Uint8Array): Uint8Array {
  if (key.length === 0) return EMPTY_BYTES
  const out = new Uint8Array(key.length * 2)
  for (let i = 0; i < key.length; i++) {
    const byte = key[i] ?? 0
    out[i * 2] = byte >> 4
    out[i * 2 + 1] = byte & 0x0f
  }
  return out
}

/** Bytes of a key with an even number of nibbles. */
export function fromNibbles(nibbles: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(nibbles.length >> 1)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = ((nibbles[index * 2] ?? 0) << 4) | (nibbles[index * 2 + 1] ?? 0)
  }
  return bytes
}
