import { copyFew, copyOver } from './copy'
import { advance, digest, IDLE, isDone, jobOf, pad, RATE, start, stop } from './lanes'

// Root of the Merkle-Patricia trie that maps rlp(index) to each item of a list, beside the hash of a body that may
// contain that list. The list is as SSZ has it: an offset of four bytes for each item, relative to the list, then the
// bytes. Nodes are laid out level by level, so that going backwards meets children before their parents, and neighbours
// hardly ever wait for each other: both lanes stay busy.

/** Job number of the body; nodes have their index. */
const BODY: u32 = 0xfffffffe
const NO_PARENT: u32 = 0xffffffff

// A node: positions `from` to `to` of its items in the order of their keys, its parent, the nibbles above it (`depth`),
// which child of a branch it is, and, once known, how the parent refers to it.
const FROM: u32 = 0
const TO: u32 = 4
const PARENT: u32 = 8
const DEPTH: u32 = 12
const SLOT: u32 = 13
const REFERENCE_LENGTH: u32 = 14
const REFERENCE: u32 = 16
// Until the reference is known, its place tells where the children are.
const FIRST_CHILD: u32 = REFERENCE
const CHILDREN: u32 = REFERENCE + 4
const NODE_BYTES: u32 = 48
/** Reference length of a node that is referred to by hash: the hash and its RLP prefix. */
const BY_HASH: u8 = 33

let list: u32 = 0
let listEnd: u32 = 0
let count: u32 = 0
/** Items whose key is one byte, and so come before the others; the last of them is number 0, whose key is 0x80. */
let low: u32 = 0
let nodes: u32 = 0
let nodeCount: u32 = 0
/** Nodes below this one are not begun. */
let next: u32 = 0
let scratch0: u32 = 0
let scratch1: u32 = 0

let bodyLeft: bool = false
let body: u32 = 0
let bodyBlocks: u32 = 0
const bodyHash: u32 = <u32>memory.data(32, 16)
const rootHash: u32 = <u32>memory.data(32, 16)

export function bodyHashAt(): u32 {
  return bodyHash
}

export function rootHashAt(): u32 {
  return rootHash
}

/** Items of the list, or -1 when its offsets are no good. */
export function countItems(at: u32, length: u32): i32 {
  if (length === 0) return 0
  if (length < 4) return -1
  const first = load<u32>(at)
  if (first === 0 || (first & 3) !== 0 || first > length) return -1
  const items = first >> 2
  let before = first
  for (let i: u32 = 1; i < items; i++) {
    const offset = load<u32>(at + i * 4)
    if (offset < before) return -1
    before = offset
  }
  return before > length ? -1 : <i32>items
}

/** Bytes of work space that `begin` needs for a list of this size. */
export function workBytes(items: u32, longest: u32): u32 {
  // The keys are dense, so that branches have sixteen children except at the edges of each key length and level.
  return (items + items / 8 + 64) * NODE_BYTES + 2 * scratchBytes(longest)
}

function scratchBytes(longest: u32): u32 {
  return (max(longest, 1024) + 2 * RATE + 64) & ~15
}

export function longestItem(at: u32, length: u32, items: u32): u32 {
  let longest: u32 = 0
  for (let i: u32 = 0; i < items; i++) {
    const end = i + 1 === items ? length : <u32>load<u32>(at + (i + 1) * 4)
    longest = max(longest, end - load<u32>(at + i * 4))
  }
  return longest
}

/** Gets ready for the trie of a list that `countItems` found good, with work space for it. */
export function beginTrie(at: u32, length: u32, items: u32, work: u32, longest: u32): void {
  stop(0)
  stop(1)
  bodyLeft = false
  list = at
  listEnd = at + length
  count = items
  low = min(items, 128)
  scratch0 = work
  scratch1 = work + scratchBytes(longest)
  nodes = scratch1 + scratchBytes(longest)
  nodeCount = 0
  if (items > 0) layOut()
  next = nodeCount
}

/** Adds the hash of a body, with room for a block behind it, to what is to be done; to be called after `beginTrie`. */
export function beginBody(at: u32, length: u32): void {
  body = at
  bodyBlocks = pad(at, length)
  bodyLeft = true
}

/** Works until the body's hash is known; the trie gets as far as it does meanwhile. */
export function runBody(): void {
  start(0, BODY, body, bodyBlocks)
  while (bodyLeft) step()
}

/** Works until the root is known. There must be an item. */
export function runTrie(): void {
  while (next > 0 || jobOf(0) !== IDLE || jobOf(1) !== IDLE) step()
}

function step(): void {
  if (jobOf(0) === IDLE) feed(0)
  if (jobOf(1) === IDLE) feed(1)
  advance()
  if (isDone(0)) finish(0)
  if (isDone(1)) finish(1)
}

function finish(lane: u32): void {
  const job = jobOf(lane)
  stop(lane)
  if (job === BODY) {
    digest(lane, bodyHash)
    bodyLeft = false
  } else if (job === 0) {
    digest(lane, rootHash)
  } else {
    const node = nodes + job * NODE_BYTES
    store<u8>(node, BY_HASH, REFERENCE_LENGTH)
    digest(lane, node + REFERENCE)
  }
}

/** Gives the lane the next node that is long enough to be hashed, unless that one waits for the other lane. */
function feed(lane: u32): void {
  const other = jobOf(1 - lane)
  const awaited = other === IDLE || other === BODY ? NO_PARENT : load<u32>(nodes + other * NODE_BYTES, PARENT)
  while (next > 0) {
    const index = next - 1
    if (index === awaited) return
    next = index
    const node = nodes + index * NODE_BYTES
    const scratch = lane === 0 ? scratch0 : scratch1
    const length = encode(node, scratch)
    if (length < 32 && index !== 0) {
      store<u8>(node, <u8>length, REFERENCE_LENGTH)
      copyFew(node + REFERENCE, scratch, length)
    } else {
      start(lane, index, scratch, pad(scratch, length))
      return
    }
  }
}

// The nodes' layout

function layOut(): void {
  addNode(0, count, NO_PARENT, 0, 0)
  for (let index: u32 = 0; index < nodeCount; index++) {
    const node = nodes + index * NODE_BYTES
    const from = load<u32>(node, FROM)
    const to = load<u32>(node, TO)
    if (to - from === 1) continue
    const depth = <u32>load<u8>(node, DEPTH)
    store<u32>(node, nodeCount, FIRST_CHILD)
    const fork = commonDepth(from, to, depth)
    if (fork > depth) {
      addNode(from, to, index, fork, 0)
    } else {
      let position = from
      while (position < to) {
        const nibble = nibbleOf(itemAt(position), depth)
        const end = endOf(nibble, position, to, depth)
        addNode(position, end, index, depth + 1, nibble)
        position = end
      }
    }
    store<u32>(node, nodeCount - load<u32>(node, FIRST_CHILD), CHILDREN)
  }
}

function addNode(from: u32, to: u32, parent: u32, depth: u32, slot: u32): void {
  const node = nodes + nodeCount * NODE_BYTES
  store<u32>(node, from, FROM)
  store<u32>(node, to, TO)
  store<u32>(node, parent, PARENT)
  store<u8>(node, <u8>depth, DEPTH)
  store<u8>(node, <u8>slot, SLOT)
  nodeCount += 1
}

/** Where the items end whose keys have this nibble as the first one does, in ever longer steps as long as they do. */
function endOf(nibble: u32, first: u32, to: u32, depth: u32): u32 {
  let end = first + 1
  let step: u32 = 1
  while (end < to) {
    const next = min(end + step, to)
    if (nibbleOf(itemAt(next - 1), depth) === nibble) {
      end = next
      step <<= 1
    } else if (step > 1) {
      step = 1
    } else {
      break
    }
  }
  return end
}

/** Nibbles that all keys of these items share, from the root on. */
function commonDepth(from: u32, to: u32, depth: u32): u32 {
  const first = itemAt(from)
  const last = itemAt(to - 1)
  while (nibbleOf(first, depth) === nibbleOf(last, depth)) depth++
  return depth
}

/** Number of the item at a position in the order of keys: 1..127, 0, 128.. */
function itemAt(position: u32): u32 {
  if (position >= low) return position
  return position === low - 1 ? 0 : position + 1
}

/** Nibbles of rlp(item). */
function keyNibbles(item: u32): u32 {
  if (item < 0x80) return 2
  return item < 0x100 ? 4 : item < 0x10000 ? 6 : 8
}

/** Nibble `position` of rlp(item), or 16 past its end. */
function nibbleOf(item: u32, position: u32): u32 {
  if (item < 0x80) {
    if (position > 1) return 16
    const byte: u32 = item === 0 ? 0x80 : item
    return position === 0 ? byte >> 4 : byte & 15
  }
  const size: u32 = item < 0x100 ? 1 : item < 0x10000 ? 2 : 3
  if (position === 0) return 8
  if (position === 1) return size
  return position > size * 2 + 1 ? 16 : (item >> (4 * (size * 2 + 1 - position))) & 15
}

// Their encoding

/** Writes the RLP of a node whose children are known to `target`, with nothing before it; its length. */
function encode(node: u32, target: u32): u32 {
  const from = load<u32>(node, FROM)
  const depth = <u32>load<u8>(node, DEPTH)
  if (load<u32>(node, TO) - from === 1) return encodeLeaf(itemAt(from), depth, target)
  const firstChild = nodes + load<u32>(node, FIRST_CHILD) * NODE_BYTES
  const children = load<u32>(node, CHILDREN)
  return children === 1
    ? encodeExtension(itemAt(from), depth, firstChild, target)
    : encodeBranch(firstChild, children, target)
}

function encodeLeaf(item: u32, depth: u32, target: u32): u32 {
  const value = list + load<u32>(list + item * 4)
  const valueEnd = item + 1 === count ? listEnd : list + load<u32>(list + (item + 1) * 4)
  const valueLength = valueEnd - value
  const path = pathBytes(keyNibbles(item) - depth)
  let at = writeHeader(target, 0xc0, stringBytes(path) + valueBytes(value, valueLength))
  at = writePath(at, item, depth, keyNibbles(item), 0x20)
  if (valueLength !== 1 || load<u8>(value) >= 0x80) at = writeHeader(at, 0x80, valueLength)
  copyOver(at, value, valueLength)
  return at + valueLength - target
}

function encodeExtension(item: u32, depth: u32, child: u32, target: u32): u32 {
  const end = <u32>load<u8>(child, DEPTH)
  const payload = stringBytes(pathBytes(end - depth)) + <u32>load<u8>(child, REFERENCE_LENGTH)
  let at = writeHeader(target, 0xc0, payload)
  at = writePath(at, item, depth, end, 0)
  return writeReference(at, child) - target
}

function encodeBranch(child: u32, children: u32, target: u32): u32 {
  const lastChild = child + children * NODE_BYTES
  // Sixteen children, absent ones a byte each, and no value: no key is the beginning of another one.
  let payload: u32 = 17
  for (let each = child; each < lastChild; each += NODE_BYTES) payload += <u32>load<u8>(each, REFERENCE_LENGTH) - 1
  let at = writeHeader(target, 0xc0, payload)
  for (let slot: u32 = 0; slot < 16; slot++) {
    if (child < lastChild && <u32>load<u8>(child, SLOT) === slot) {
      at = writeReference(at, child)
      child += NODE_BYTES
    } else {
      store<u8>(at, 0x80)
      at += 1
    }
  }
  store<u8>(at, 0x80)
  return at + 1 - target
}

function writeReference(at: u32, child: u32): u32 {
  const length = load<u8>(child, REFERENCE_LENGTH)
  if (length !== BY_HASH) {
    copyFew(at, child + REFERENCE, length)
    return at + length
  }
  store<u8>(at, 0xa0)
  v128.store(at + 1, v128.load(child + REFERENCE))
  v128.store(at + 17, v128.load(child + REFERENCE + 16))
  return at + 33
}

/** Bytes of a hex-prefix encoded path (Yellow Paper, appendix C). */
function pathBytes(nibbles: u32): u32 {
  return <u32>(nibbles >> 1) + 1
}

/** RLP of a path: its first byte is below 0x80, so that one byte stands for itself. */
function stringBytes(length: u32): u32 {
  return length === 1 ? 1 : length + 1
}

function valueBytes(value: u32, length: u32): u32 {
  if (length === 1 && load<u8>(value) < 0x80) return 1
  return headerBytes(length) + length
}

function headerBytes(length: u32): u32 {
  if (length < 56) return 1
  return length < 0x100 ? 2 : length < 0x10000 ? 3 : length < 0x1000000 ? 4 : 5
}

function writeHeader(at: u32, base: u32, length: u32): u32 {
  const size = headerBytes(length)
  if (size === 1) {
    store<u8>(at, <u8>(base + length))
    return at + 1
  }
  store<u8>(at, <u8>(base + 54 + size))
  for (let i: u32 = 1; i < size; i++) store<u8>(at + i, <u8>(length >> (8 * (size - 1 - i))))
  return at + size
}

/** Writes the nibbles from..to of the item's key, with their RLP header. */
function writePath(at: u32, item: u32, from: u32, to: u32, flag: u32): u32 {
  const length = pathBytes(to - from)
  if (length > 1) {
    store<u8>(at, <u8>(0x80 + length))
    at += 1
  }
  if (((to - from) & 1) !== 0) {
    store<u8>(at, <u8>(flag | 0x10 | nibbleOf(item, from)))
    from += 1
  } else {
    store<u8>(at, <u8>flag)
  }
  at += 1
  for (; from < to; from += 2) {
    store<u8>(at, <u8>((nibbleOf(item, from) << 4) | nibbleOf(item, from + 1)))
    at += 1
  }
  return at
}
