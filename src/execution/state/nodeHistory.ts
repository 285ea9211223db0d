import { bytesToText } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import { takeTurn } from '../../lib/turns.ts'
import type { StateChanges } from './stateChanges.ts'

export interface BlockId {
  number: number
  hash: Hex
}

/** Keys of the trie nodes that a block added to the state of its parent and took from it. */
export interface NodeDelta {
  added: readonly NodeKey[]
  replaced: readonly NodeKey[]
}

/** The 32 bytes of a `nodeKey`, one character each. */
export type NodeKey = string

/** What is on the disk. */
export interface NodeDisk {
  node(key: Uint8Array): Uint8Array | undefined
  /** What `NodeWrites.deltas` wrote for a block. */
  delta(block: BlockId): NodeDelta | undefined
}

/** What is on the disk besides nodes when the program starts. */
export interface NodeDiskState {
  prunedTo: number
  deltas: readonly BlockId[]
  extraLives: ReadonlyMap<NodeKey, number>
}

/** Changes on the disk that belong together. */
export interface NodeWrites {
  puts: Map<NodeKey, Uint8Array>
  deletes: NodeKey[]
  /** 0: none any more. */
  extraLives: Map<NodeKey, number>
  deltas: { block: BlockId; delta: NodeDelta }[]
  endedDeltas: BlockId[]
  prunedTo: number
  /** To be called once they are written. */
  done(): void
}

interface Entry {
  encoding: Uint8Array
  /** Lives that blocks gave it which may still leave the chain, and that are not on the disk. */
  pending: number
  /** The same of blocks that can not. */
  settled: number
}

interface Layer extends NodeDelta {
  block: BlockId
  cost: number
}

/** What a node takes beside its encoding, about: key, entry, array. */
const ENTRY_BYTES = 400

/**
 * Which trie nodes are needed, and by what. The states of all blocks from `prunedTo` on can be read, on every branch;
 * earlier ones are deleted. New nodes stay in memory for as long as there is room, and those that were replaced
 * meanwhile are never written: of a thousand empty blocks the disk sees the last state.
 *
 * A node has one life for each time that a block added it, and loses one when the state without it is the oldest that is
 * kept, or when the block that added it has left the chain for good. Without lives it is deleted. (A block may bring
 * back a node that an earlier one replaced: its hash is the same.)
 */
export class NodeHistory {
  private readonly disk: NodeDisk
  private readonly entries = new Map<NodeKey, Entry>()
  private readonly layers = new Map<Hex, Layer>()
  /** Blocks above `prunedTo`, in memory or on the disk. */
  private readonly blocks = new Map<number, Hex[]>()
  /** Lives of nodes on the disk beyond the first. */
  private readonly extraLives: Map<NodeKey, number>
  /** Lives that nodes on the disk have lost since it was written. */
  private losses = new Map<NodeKey, number>()
  private ended: BlockId[] = []
  private pruned: number
  private pendingCost = 0
  private settledCost = 0
  private entryBytes = 0

  constructor(disk: NodeDisk, { prunedTo, deltas, extraLives }: NodeDiskState) {
    this.disk = disk
    this.pruned = prunedTo
    this.extraLives = new Map(extraLives)
    for (const { number, hash } of deltas) this.listBlock(number, hash)
  }

  /** The oldest block whose state is kept. */
  get prunedTo(): number {
    return this.pruned
  }

  /** Memory, about. */
  get bytes(): number {
    return this.entryBytes
  }

  /** Cost of the blocks that would have to be executed again after a crash: those that may leave the chain, others. */
  get unwritten(): { pendingCost: number; settledCost: number } {
    return { pendingCost: this.pendingCost, settledCost: this.settledCost }
  }

  node(key: Uint8Array): Uint8Array | undefined {
    if (this.entries.size > 0) {
      const entry = this.entries.get(toNodeKey(key))
      if (entry !== undefined) return entry.encoding
    }
    return this.disk.node(key)
  }

  /** Adds the state of a block, whose parent's is there. */
  add(block: BlockId, { nodes, replaced }: Pick<StateChanges, 'nodes' | 'replaced'>, cost: number): void {
    const { number, hash } = block
    if (number <= this.pruned || this.blocks.get(number)?.includes(hash) === true) return
    const added: NodeKey[] = []
    for (const { key, encoding } of nodes) {
      const text = toNodeKey(key)
      added.push(text)
      const entry = this.entries.get(text)
      if (entry !== undefined) entry.pending++
      else {
        this.entries.set(text, { encoding, pending: 1, settled: 0 })
        this.entryBytes += encoding.length + ENTRY_BYTES
      }
    }
    this.layers.set(hash, { block, cost, added, replaced: replaced.map(toNodeKey) })
    this.pendingCost += cost
    this.listBlock(number, hash)
  }

  /** Gives up the states before `number`, `limit` of them at most. The canonical chain must be fixed up to there. */
  pruneTo(number: number, canonicalHash: (number: number) => Hex | undefined, limit: number): void {
    for (let left = limit; this.pruned < number && left > 0; left--) {
      const next = this.pruned + 1
      const canonical = canonicalHash(next)
      // First those that left the chain: nothing but what they added goes.
      for (const hash of this.blocks.get(next) ?? []) if (hash !== canonical) this.discard({ number: next, hash })
      if (canonical !== undefined && this.blocks.get(next)?.includes(canonical) === true) {
        this.settle({ number: next, hash: canonical })
      }
      this.blocks.delete(next)
      this.pruned = next
    }
  }

  /**
   * What the disk is to hold from now on: with `all` the state of every block that is kept, else that of the oldest one,
   * so that the others stay in memory. Nothing else may be called until it is written.
   */
  async writes(all: boolean): Promise<NodeWrites> {
    const gains = new Map<NodeKey, number>()
    const deltas: NodeWrites['deltas'] = []
    for (const [key, { settled }] of this.entries) if (settled > 0) gains.set(key, settled)
    const written = all ? [...this.layers.values()] : []
    for (const layer of written) {
      deltas.push({ block: layer.block, delta: layer })
      for (const key of layer.added) gains.set(key, (gains.get(key) ?? 0) + 1)
    }
    const writes: NodeWrites = {
      puts: new Map(),
      deletes: [],
      extraLives: new Map(),
      deltas,
      endedDeltas: this.ended,
      prunedTo: this.pruned,
      done: () => this.written(gains, written, writes.extraLives),
    }
    for (const [key, gain] of gains) {
      await takeTurn()
      this.planNode(key, gain - (this.losses.get(key) ?? 0), writes)
    }
    for (const [key, loss] of this.losses) {
      await takeTurn()
      if (!gains.has(key)) this.planNode(key, -loss, writes)
    }
    return writes
  }

  private planNode(key: NodeKey, change: number, writes: NodeWrites): void {
    const extra = this.extraLives.get(key) ?? 0
    const isThere = this.disk.node(fromNodeKey(key)) !== undefined
    const lives = (isThere ? 1 + extra : 0) + change
    if (lives > 0 && !isThere) {
      const entry = this.entries.get(key)
      if (entry !== undefined) writes.puts.set(key, entry.encoding)
    }
    if (lives <= 0 && isThere) writes.deletes.push(key)
    const nextExtra = Math.max(lives - 1, 0)
    if (nextExtra !== extra) writes.extraLives.set(key, nextExtra)
  }

  private written(gains: Map<NodeKey, number>, layers: Layer[], extraLives: Map<NodeKey, number>): void {
    for (const [key, gain] of gains) {
      const entry = this.entries.get(key)
      if (entry === undefined) continue
      entry.pending -= gain - entry.settled
      entry.settled = 0
      this.dropIfDead(key, entry)
    }
    for (const { block, cost } of layers) {
      this.layers.delete(block.hash)
      this.pendingCost -= cost
    }
    for (const [key, extra] of extraLives) {
      if (extra === 0) this.extraLives.delete(key)
      else this.extraLives.set(key, extra)
    }
    this.losses = new Map()
    this.ended = []
    this.settledCost = 0
  }

  /** A block that is on the chain for good: nobody asks for the state before it any more. */
  private settle(block: BlockId): void {
    const delta = this.end(block)
    if (delta === undefined) return
    const { layer, added, replaced } = delta
    if (layer !== undefined) {
      this.settledCost += layer.cost
      for (const key of added) {
        const entry = this.entries.get(key)
        if (entry === undefined) continue
        entry.pending--
        entry.settled++
      }
    }
    for (const key of replaced) {
      const entry = this.entries.get(key)
      if (entry === undefined || entry.settled === 0) this.lose(key)
      else {
        entry.settled--
        this.dropIfDead(key, entry)
      }
    }
  }

  /** A block that will not be on the chain again. */
  private discard(block: BlockId): void {
    const delta = this.end(block)
    if (delta === undefined) return
    for (const key of delta.added) {
      const entry = delta.layer === undefined ? undefined : this.entries.get(key)
      if (entry === undefined) this.lose(key)
      else {
        entry.pending--
        this.dropIfDead(key, entry)
      }
    }
  }

  /** Takes what is known of a block, from memory or from the disk. */
  private end(block: BlockId): (NodeDelta & { layer: Layer | undefined }) | undefined {
    const layer = this.layers.get(block.hash)
    if (layer !== undefined) {
      this.layers.delete(block.hash)
      this.pendingCost -= layer.cost
      return { layer, added: layer.added, replaced: layer.replaced }
    }
    const delta = this.disk.delta(block)
    if (delta === undefined) return undefined
    this.ended.push(block)
    return { layer: undefined, added: delta.added, replaced: delta.replaced }
  }

  private lose(key: NodeKey): void {
    this.losses.set(key, (this.losses.get(key) ?? 0) + 1)
  }

  private dropIfDead(key: NodeKey, entry: Entry): void {
    if (entry.pending > 0 || entry.settled > 0) return
    this.entries.delete(key)
    this.entryBytes -= entry.encoding.length + ENTRY_BYTES
  }

  private listBlock(number: number, hash: Hex): void {
    const hashes = this.blocks.get(number)
    if (hashes === undefined) this.blocks.set(number, [hash])
    else hashes.push(hash)
  }
}

export function toNodeKey(key: Uint8Array): NodeKey {
  return bytesToText(key, 'latin1')
}

export function fromNodeKey(key: NodeKey): Uint8Array {
  const bytes = Buffer.from(key, 'latin1')
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
