import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlpBriefly, type RlpInput } from '../../../lib/rlp.ts'
import { HASH_BYTES } from '../../../lib/wasm/kernel.ts'
import { keccak256Many } from '../../../lib/wasm/manyHashes.ts'
import { EMPTY_TRIE_ROOT } from '../constants.ts'

/**
 * Root of the Merkle-Patricia trie that maps rlp(index) to each item: transactions root, receipts root, withdrawals
 * root.
 */
export function orderedTrieRoot(items: readonly Uint8Array[]): Hex {
  if (items.length === 0) return EMPTY_TRIE_ROOT
  if (items.length > MAX_ITEMS) throw new RangeError(`${items.length} items are too many for an ordered trie`)
  const root = refOf(leafRefs(items), 0, items.length, 0)
  return toHex(root instanceof Uint8Array ? root : keccak256(encodeRlpBriefly(root)))
}

/** rlp(index) of a number below 2^24 has at most four bytes, so a key has at most eight nibbles. */
const MAX_ITEMS = 0xff_ffff

/** A parent's reference to a node: the node's hash, or the node itself if its encoding is shorter than a hash. */
type Ref = RlpInput

/** The leaves, in the order of their keys. Leaves are independent, so all are hashed in batches. */
function leafRefs(items: readonly Uint8Array[]): Ref[] {
  const count = items.length
  const refs: Ref[] = []
  const hashed: number[] = []
  function* longLeaves(): Generator<Uint8Array> {
    let sharedBefore = -1
    for (let position = 0; position < count; position++) {
      const index = indexAt(position, count)
      const sharedAfter = position + 1 < count ? sharedNibbles(index, indexAt(position + 1, count)) : -1
      // The leaf's path begins after the nibbles that it shares with its neighbours.
      const depth = Math.max(sharedBefore, sharedAfter) + 1
      sharedBefore = sharedAfter
      const leaf = [compactPath(index, depth, keyNibbles(index), true), items[index] ?? EMPTY_BYTES]
      const encoding = encodeRlpBriefly(leaf)
      if (encoding.length >= HASH_BYTES) {
        hashed.push(position)
        yield encoding
      }
      refs.push(leaf)
    }
  }
  const hashes = keccak256Many(longLeaves())
  hashed.forEach((position, index) => {
    refs[position] = hashes[index] ?? EMPTY_BYTES
  })
  return refs
}

/** The node over the leaves from..to, whose keys share the first `depth` nibbles. */
function refOf(leaves: readonly Ref[], from: number, to: number, depth: number): Ref {
  if (to - from === 1) return leaves[from] ?? EMPTY_BYTES
  const count = leaves.length
  const first = indexAt(from, count)
  const fork = sharedNibbles(first, indexAt(to - 1, count))
  if (fork > depth) return shortest([compactPath(first, depth, fork, false), refOf(leaves, from, to, fork)])
  // No rlp(index) is a prefix of another, so branches have no value.
  const branch: Ref[] = new Array(17).fill(EMPTY_BYTES)
  for (let start = from, end = from; start < to; start = end) {
    const nibble = nibbleOf(indexAt(start, count), depth)
    while (end < to && nibbleOf(indexAt(end, count), depth) === nibble) end++
    branch[nibble] = refOf(leaves, start, end, depth + 1)
  }
  return shortest(branch)
}

function shortest(node: readonly Ref[]): Ref {
  const encoding = encodeRlpBriefly(node)
  return encoding.length < HASH_BYTES ? node : keccak256(encoding)
}

/** Index of the item at a position in key order: 1..127, 0, 128.. */
function indexAt(position: number, count: number): number {
  if (position >= 128) return position
  return position === Math.min(count, 128) - 1 ? 0 : position + 1
}

/** Number of nibbles of rlp(index). */
function keyNibbles(index: number): number {
  if (index < 0x80) return 2
  return index < 0x100 ? 4 : index < 0x1_0000 ? 6 : 8
}

/** Number of leading nibbles that two different keys share. */
function sharedNibbles(a: number, b: number): number {
  let count = 0
  while (nibbleOf(a, count) === nibbleOf(b, count)) count++
  return count
}

/** Nibble `position` of rlp(index). */
function nibbleOf(index: number, position: number): number {
  const key = index === 0 ? 0x80 : index
  const nibbles = keyNibbles(index)
  if (nibbles > 2 && position < 2) return position === 0 ? 8 : nibbles / 2 - 1
  return (key >>> (4 * (nibbles - 1 - position))) & 0x0f
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
