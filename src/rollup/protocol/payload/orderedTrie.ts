import { concatBytes } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { itemsTrieRoot } from '../../../lib/wasm/listTrie.ts'
import { EMPTY_TRIE_ROOT } from '../constants.ts'

/** Root of the Merkle-Patricia trie that maps rlp(index) to each item: transactions root, receipts root, withdrawals root. */
export function orderedTrieRoot(items: readonly Uint8Array[]): Hex {
  if (items.length === 0) return EMPTY_TRIE_ROOT
  const root = itemsTrieRoot(items)
  return root === undefined ? plainOrderedTrieRoot(items) : toHex(root)
}

/** The same without WebAssembly: bottom-up in one pass over the sorted keys, without a node store. At least one item. */
export function plainOrderedTrieRoot(items: readonly Uint8Array[]): Hex {
  return toHex(new OrderedTrieBuilder(items).root())
}

/** rlp(index) of a number below 2^24 is at most four bytes, so a key has at most eight nibbles. */
const MAX_ITEMS = 0xff_ffff
const EMPTY_CHILD = Uint8Array.of(0x80)

class OrderedTrieBuilder {
  private readonly items: readonly Uint8Array[]
  /** Item indices in the order of their keys: 1..127, 0, 128.. */
  private readonly order: Uint32Array
  /** A leaf or branch is put together here before it is hashed. */
  private scratch = new Uint8Array(1024)

  constructor(items: readonly Uint8Array[]) {
    if (items.length > MAX_ITEMS) throw new RangeError(`${items.length} items are too many for an ordered trie`)
    this.items = items
    this.order = new Uint32Array(items.length)
    const low = Math.min(items.length, 128)
    for (let i = 1; i < low; i++) this.order[i - 1] = i
    this.order[low - 1] = 0
    for (let i = 128; i < items.length; i++) this.order[i] = i
  }

  root(): Uint8Array {
    const length = this.build(0, this.items.length, 0)
    return keccak256(this.scratch.subarray(0, length))
  }

  /** Writes the RLP of the node over order[from..to) below `depth` nibbles into scratch and returns its length. */
  private build(from: number, to: number, depth: number): number {
    const first = this.order[from] ?? 0
    if (to - from === 1) return this.leaf(first, depth)
    const last = this.order[to - 1] ?? 0
    let fork = depth
    while (nibbleOf(first, fork) === nibbleOf(last, fork)) fork++
    return fork > depth ? this.extension(from, to, depth, fork) : this.branch(from, to, depth)
  }

  private leaf(index: number, depth: number): number {
    const value = this.items[index] ?? EMPTY_CHILD
    const path = compactPath(index, depth, keyNibbles(index), true)
    const pathLength = path.length === 1 ? 1 : path.length + 1
    const valueLength = stringLength(value)
    const payload = pathLength + valueLength
    this.reserve(payload + 5)
    let offset = this.writeHeader(0, 0xc0, payload)
    offset = this.writeString(offset, path)
    return this.writeString(offset, value)
  }

  private extension(from: number, to: number, depth: number, fork: number): number {
    const path = compactPath(this.order[from] ?? 0, depth, fork, false)
    const child = this.reference(this.build(from, to, fork))
    const pathLength = path.length === 1 ? 1 : path.length + 1
    let offset = this.writeHeader(0, 0xc0, pathLength + child.length)
    offset = this.writeString(offset, path)
    this.scratch.set(child, offset)
    return offset + child.length
  }

  private branch(from: number, to: number, depth: number): number {
    const children: Uint8Array[] = []
    let payload = 1
    let position = from
    for (let nibble = 0; nibble < 16; nibble++) {
      let end = position
      while (end < to && nibbleOf(this.order[end] ?? 0, depth) === nibble) end++
      const child = end === position ? EMPTY_CHILD : this.reference(this.build(position, end, depth + 1))
      children.push(child)
      payload += child.length
      position = end
    }
    let offset = this.writeHeader(0, 0xc0, payload)
    for (const child of children) {
      this.scratch.set(child, offset)
      offset += child.length
    }
    // No rlp(index) is the prefix of another one, so branches have no value.
    this.scratch[offset] = 0x80
    return offset + 1
  }

  /** How a parent refers to the node in scratch: itself when shorter than a hash, else its hash. */
  private reference(length: number): Uint8Array {
    const node = this.scratch.subarray(0, length)
    if (length < 32) return node.slice()
    return concatBytes(HASH_PREFIX, keccak256(node))
  }

  private reserve(length: number): void {
    if (length > this.scratch.length) this.scratch = new Uint8Array(length * 2)
  }

  private writeHeader(offset: number, base: number, length: number): number {
    const { scratch } = this
    if (length < 56) {
      scratch[offset] = base + length
      return offset + 1
    }
    const size = length < 0x100 ? 1 : length < 0x1_0000 ? 2 : length < 0x100_0000 ? 3 : 4
    scratch[offset] = base + 55 + size
    for (let i = 0; i < size; i++) scratch[offset + 1 + i] = (length >>> (8 * (size - 1 - i))) & 0xff
    return offset + 1 + size
  }

  private writeString(offset: number, bytes: Uint8Array): number {
    if (bytes.length === 1 && (bytes[0] ?? 0) < 0x80) {
      this.scratch[offset] = bytes[0] ?? 0
      return offset + 1
    }
    const start = this.writeHeader(offset, 0x80, bytes.length)
    this.scratch.set(bytes, start)
    return start + bytes.length
  }
}

const HASH_PREFIX = Uint8Array.of(0xa0)

/** Length of the RLP string of these bytes. */
function stringLength(bytes: Uint8Array): number {
  const { length } = bytes
  if (length === 1 && (bytes[0] ?? 0) < 0x80) return 1
  if (length < 56) return 1 + length
  return 1 + length + (length < 0x100 ? 1 : length < 0x1_0000 ? 2 : length < 0x100_0000 ? 3 : 4)
}

/** Nibbles of rlp(index). */
function keyNibbles(index: number): number {
  if (index < 0x80) return 2
  return index < 0x100 ? 4 : index < 0x1_0000 ? 6 : 8
}

/** Nibble `position` of rlp(index), or -1 past its end. */
function nibbleOf(index: number, position: number): number {
  if (index < 0x80) {
    if (position > 1) return -1
    const byte = index === 0 ? 0x80 : index
    return position === 0 ? byte >>> 4 : byte & 0x0f
  }
  const size = index < 0x100 ? 1 : index < 0x1_0000 ? 2 : 3
  if (position === 0) return 8
  if (position === 1) return size
  const shift = 4 * (size * 2 + 1 - position)
  return shift < 0 ? -1 : (index >>> shift) & 0x0f
}

/** Hex-prefix encoding (Yellow Paper appendix C) of the key's nibbles from..to. */
function compactPath(index: number, from: number, to: number, isLeaf: boolean): Uint8Array {
  const count = to - from
  const path = new Uint8Array((count >> 1) + 1)
  const flag = isLeaf ? 0x20 : 0
  const isOdd = count % 2 === 1
  path[0] = isOdd ? flag | 0x10 | nibbleOf(index, from) : flag
  let position = isOdd ? from + 1 : from
  for (let i = 1; i < path.length; i++, position += 2) {
    path[i] = (nibbleOf(index, position) << 4) | nibbleOf(index, position + 1)
  }
  return path
}
