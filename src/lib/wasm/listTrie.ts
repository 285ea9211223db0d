import { createKernelLoan, HASH_BYTES, type Kernel, PADDING_BYTES } from './kernel.ts'

const lend = createKernelLoan()
const OFFSET_BYTES = 4
/** As many items as SSZ allows in a payload; more would take too much memory at once. */
const MAX_ITEMS = 2 ** 20
/** Laying out the nodes of more takes longer than is fair to a body that may turn out to be a stranger's. */
const MAX_EARLY_ITEMS = 16_384

/** A list inside a body, as SSZ has it: an offset of four bytes for each item, relative to the list, then the bytes. */
export interface ListPlace {
  start: number
  end: number
}

export interface BodyHashes {
  /** keccak256 of the body. */
  bodyHash: Uint8Array
  /**
   * Root of the Merkle-Patricia trie of rlp(index) → item; undefined when the list's offsets are no good, or it has no
   * items. To be called at once or never: the next call of `hashBody` ends it.
   */
  finishRoot(): Uint8Array | undefined
}

/**
 * Hashes a body and, in the time that its second vector lane would be idle, begins with the trie of a list in it. So
 * whoever wants the body's hash first, to judge a signature, pays little for the other. Undefined where the processor
 * cannot run it.
 */
export function hashBody(body: Uint8Array, list: ListPlace | undefined): BodyHashes | undefined {
  const kernel = lend()
  if (kernel === undefined) return undefined
  kernel.reserve(body.length + PADDING_BYTES).set(body, kernel.base)
  const length = list === undefined ? 0 : list.end - list.start
  const start = kernel.base + (list?.start ?? 0)
  let items = Math.max(0, kernel.countItems(start, length))
  if (items > MAX_ITEMS) items = 0
  const free = kernel.base + body.length + PADDING_BYTES
  const isEarly = items <= MAX_EARLY_ITEMS
  beginTrie(kernel, start, length, isEarly ? items : 0, free)
  kernel.beginBody(kernel.base, body.length)
  kernel.runBody()
  return {
    bodyHash: hashAt(kernel, kernel.bodyHashAt()),
    finishRoot() {
      if (items === 0) return undefined
      if (!isEarly) beginTrie(kernel, start, length, items, free)
      return rootOf(kernel)
    },
  }
}

/** Root of the trie of rlp(index) → item, of at least one item. Undefined as in `hashBody`, and for too many items. */
export function itemsTrieRoot(items: readonly Uint8Array[]): Uint8Array | undefined {
  const kernel = items.length > MAX_ITEMS ? undefined : lend()
  if (kernel === undefined) return undefined
  let length = items.length * OFFSET_BYTES
  for (const item of items) length += item.length
  const memory = kernel.reserve(length + PADDING_BYTES)
  const offsets = new DataView(memory.buffer, kernel.base, items.length * OFFSET_BYTES)
  let offset = items.length * OFFSET_BYTES
  items.forEach((item, index) => {
    offsets.setUint32(index * OFFSET_BYTES, offset, true)
    memory.set(item, kernel.base + offset)
    offset += item.length
  })
  beginTrie(kernel, kernel.base, length, items.length, kernel.base + length + PADDING_BYTES)
  return rootOf(kernel)
}

function beginTrie(kernel: Kernel, start: number, length: number, items: number, free: number): void {
  const longest = kernel.longestItem(start, length, items)
  const work = Math.ceil(free / 16) * 16
  kernel.reserve(work - kernel.base + kernel.workBytes(items, longest))
  kernel.beginTrie(start, length, items, work, longest)
}

function rootOf(kernel: Kernel): Uint8Array {
  kernel.runTrie()
  return hashAt(kernel, kernel.rootHashAt())
}

function hashAt(kernel: Kernel, at: number): Uint8Array {
  return kernel.reserve(0).slice(at, at + HASH_BYTES)
}
