import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { readRlpHeader } from '../../lib/rlp.ts'

// Nodes of a Merkle Patricia trie whose keys all have the same length (state and storage tries: 64 nibbles), so that
// branches never carry a value. A node's `ref` is what its parent embeds: the 32-byte hash, or the node's own
// encoding when that is shorter than 32 bytes. A null `ref` marks a node changed since the last commit; such a node
// belongs to one trie only and may be changed in place, while all others are shared and are copied first.

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

export class BranchNode {
  readonly kind = 'branch'
  children: (TrieNode | null)[]
  ref: Uint8Array | null = null
  constructor(children: (TrieNode | null)[]) {
    this.children = children
  }
}

/** Stands for a node that was not loaded yet. */
export class HashNode {
  readonly kind = 'hash'
  readonly ref: Uint8Array
  constructor(hash: Uint8Array) {
    this.ref = hash
  }
}

export type TrieNode = LeafNode | ExtensionNode | BranchNode | HashNode
export type LoadedNode = LeafNode | ExtensionNode | BranchNode

/** Nodes are encoded here first; a branch of 16 hashes takes 532 bytes. */
const scratch = new Uint8Array(1024)

/** RLP of a node whose children all have their `ref`. The result is a copy. */
export function encodeNode(node: LoadedNode): Uint8Array {
  if (node.kind === 'branch') {
    let end = 3
    for (const child of node.children) end = child === null ? writeByte(end, 0x80) : writeRef(end, requireRef(child))
    end = writeByte(end, 0x80)
    return finishList(end)
  }
  if (node.kind === 'extension') {
    const path = compactKey(node.key, false)
    return finishList(writeRef(writeString(3, path), requireRef(node.child)))
  }
  const path = compactKey(node.key, true)
  if (path.length + node.value.length > 900) throw new RangeError(`trie value of ${node.value.length} bytes`)
  return finishList(writeString(writeString(3, path), node.value))
}

function requireRef(node: TrieNode): Uint8Array {
  if (node.ref === null) throw new Error('trie child is not hashed')
  return node.ref
}

function writeByte(offset: number, byte: number): number {
  scratch[offset] = byte
  return offset + 1
}

function writeRef(offset: number, ref: Uint8Array): number {
  if (ref.length === 32) return writeString(offset, ref)
  scratch.set(ref, offset)
  return offset + ref.length
}

function writeString(offset: number, bytes: Uint8Array): number {
  const { length } = bytes
  let start = offset
  if (length !== 1 || (bytes[0] ?? 0) >= 0x80) {
    if (length < 56) scratch[start++] = 0x80 + length
    else if (length < 256) {
      scratch[start++] = 0xb8
      scratch[start++] = length
    } else {
      scratch[start++] = 0xb9
      scratch[start++] = length >> 8
      scratch[start++] = length & 0xff
    }
  }
  scratch.set(bytes, start)
  return start + length
}

/** Three bytes were left free in front of the payload for the list header. */
function finishList(end: number): Uint8Array {
  const length = end - 3
  let start = 3
  if (length < 56) scratch[--start] = 0xc0 + length
  else if (length < 256) {
    scratch[--start] = length
    scratch[--start] = 0xf8
  } else {
    scratch[--start] = length & 0xff
    scratch[--start] = length >> 8
    scratch[--start] = 0xf9
  }
  return scratch.slice(start, end)
}

/** Yellow Paper appendix C: hex-prefix encoding of nibbles. */
function compactKey(nibbles: Uint8Array, isLeaf: boolean): Uint8Array {
  const odd = nibbles.length & 1
  const out = new Uint8Array((nibbles.length >> 1) + 1)
  out[0] = (isLeaf ? 0x20 : 0) | (odd === 1 ? 0x10 | (nibbles[0] ?? 0) : 0)
  for (let i = odd, o = 1; i < nibbles.length; i += 2, o++) out[o] = ((nibbles[i] ?? 0) << 4) | (nibbles[i + 1] ?? 0)
  return out
}

/** Node of the encoding; `ref` is left for the caller to set. Throws DecodeError. */
export function decodeNode(encoding: Uint8Array): LoadedNode {
  const list = readRlpHeader(encoding, 0)
  if (!list.isList) throw new DecodeError('trie node: not a list')
  const items: { start: number; end: number; outer: number; isList: boolean }[] = []
  for (let position = list.start; position < list.end; ) {
    const item = readRlpHeader(encoding, position)
    items.push({ start: item.start, end: item.end, outer: position, isList: item.isList })
    position = item.end
  }
  if (items.length === 17) {
    const children: (TrieNode | null)[] = []
    for (const item of items.slice(0, 16)) {
      children.push(item.end === item.start ? null : decodeChild(encoding, item))
    }
    return new BranchNode(children)
  }
  const [path, second] = items
  if (items.length !== 2 || path === undefined || second === undefined) {
    throw new DecodeError(`trie node: ${items.length} items`)
  }
  const flags = encoding[path.start] ?? 0
  const nibbles = expandKey(encoding.subarray(path.start, path.end))
  if ((flags & 0x20) !== 0) return new LeafNode(nibbles, encoding.slice(second.start, second.end))
  return new ExtensionNode(nibbles, decodeChild(encoding, second))
}

function decodeChild(
  encoding: Uint8Array,
  item: { start: number; end: number; outer: number; isList: boolean },
): TrieNode {
  if (!item.isList) {
    if (item.end - item.start !== 32) throw new DecodeError('trie node: child hash is not 32 bytes')
    return new HashNode(encoding.slice(item.start, item.end))
  }
  const inline = encoding.slice(item.outer, item.end)
  const node = decodeNode(inline)
  node.ref = inline
  return node
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
