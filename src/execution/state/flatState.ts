import type { Hex } from '../../lib/hex.ts'
import { type BlockId, fromNodeKey } from './nodeHistory.ts'
import type { LeafKey, Leaves } from './stateChanges.ts'

/** The leaves of one state, on the disk. */
export interface FlatDisk {
  leaf(key: Uint8Array): Uint8Array | undefined
}

/** The leaves of one state. */
export interface FlatView {
  /** null: there is none; undefined: the state has left what is kept flat, so that its trie must be asked. */
  leaf(key: LeafKey): Uint8Array | null | undefined
}

/** By block: undefined where its state is not kept flat. */
export interface FlatSource {
  at(blockHash: Hex): FlatView | undefined
}

/** What the disk is to hold from now on. */
export interface FlatWrites {
  leaves: Leaves
  /** Whose state it is then. */
  blockHash: Hex
  /** To be called once they are written. */
  done(): void
}

export interface FlatLimits {
  /** Blocks above the one whose state is on the disk, or goes there next. */
  layers: number
  /** Memory for them; with more there are fewer. */
  layerBytes: number
  /** The number of the oldest block whose trie is kept: the base is not below, so that its trie can lead elsewhere. */
  oldest: number
}

/** What a block changed; of the base nothing is told. */
interface Layer {
  readonly number: number
  readonly hash: Hex
  /** Grows by one from parent to child. */
  readonly depth: number
  parent: Layer | undefined
  readonly branch: Branch
  leaves: Leaves
  readonly bytes: number
  readonly children: Layer[]
  /** Neither the base nor above it any more. */
  isGone: boolean
}

/** Layers each of which is the first child of the one before. */
interface Branch {
  /** That of the parent of its first layer, and the parent's depth. */
  from: Branch | undefined
  forkDepth: number
}

/** What a leaf takes beside its value, about: key, places in two maps, array. */
const LEAF_BYTES = 300
/** Memory for leaves that were read from the disk. */
const MAX_READ_BYTES = 16 * 1024 * 1024

/**
 * The leaves of states, to be read without a walk through the trie: those of one block, the base, on the disk, where a
 * leaf is one look-up, and what the blocks above it changed, on all branches, in memory. States below the base, and on
 * branches that do not go through it, are read from their tries.
 */
export class FlatState implements FlatSource {
  private readonly disk: FlatDisk
  private readonly layers = new Map<Hex, Layer>()
  /** The layers above the base that changed a leaf, in the order in which they came. */
  private readonly changed = new Map<LeafKey, Layer[]>()
  private base: Layer
  /** Changed by what became the base since the disk was written. */
  private settled = new Map<LeafKey, Uint8Array | null>()
  private settledBytes = 0
  private layerBytes = 0
  /** As they are on the disk. */
  private readonly read = new Map<LeafKey, Uint8Array | null>()
  private readBytes = 0

  constructor(disk: FlatDisk, { number, hash }: BlockId) {
    this.disk = disk
    this.base = {
      number,
      hash,
      depth: 0,
      parent: undefined,
      branch: { from: undefined, forkDepth: 0 },
      leaves: new Map(),
      bytes: 0,
      children: [],
      isGone: false,
    }
    this.layers.set(hash, this.base)
  }

  get baseBlock(): BlockId {
    return this.base
  }

  /** Memory for what the disk is to hold next, about. */
  get unwrittenBytes(): number {
    return this.settledBytes
  }

  at(blockHash: Hex): FlatView | undefined {
    const layer = this.layers.get(blockHash)
    return layer === undefined ? undefined : { leaf: (key) => this.leafAt(layer, key) }
  }

  /** What a block changed in the state of its parent. Does nothing for a block that is known, or whose parent is not. */
  add({ number, hash }: BlockId, parentHash: Hex, leaves: Leaves): void {
    const parent = this.layers.get(parentHash)
    if (parent === undefined || this.layers.has(hash)) return
    const isFirst = parent.children.length === 0
    const layer: Layer = {
      number,
      hash,
      depth: parent.depth + 1,
      parent,
      branch: isFirst ? parent.branch : { from: parent.branch, forkDepth: parent.depth },
      leaves,
      bytes: bytesOf(leaves),
      children: [],
      isGone: false,
    }
    parent.children.push(layer)
    this.layers.set(hash, layer)
    this.layerBytes += layer.bytes
    for (const key of leaves.keys()) {
      const layers = this.changed.get(key)
      if (layers === undefined) this.changed.set(key, [layer])
      else layers.push(layer)
    }
  }

  /** Makes later blocks below the head the base, as far as the limits demand. */
  settle(headHash: Hex, { layers, layerBytes, oldest }: FlatLimits): void {
    const head = this.layers.get(headHash) ?? this.base
    while (head !== this.base) {
      const next = this.childTowards(head)
      const isTooOld = this.base.number < oldest || next.number <= oldest
      if (!isTooOld && head.depth - next.depth < layers && this.layerBytes <= layerBytes) return
      this.advance(next)
    }
  }

  /** Nothing else but reads may happen until they are written. */
  writes(): FlatWrites {
    return {
      leaves: this.settled,
      blockHash: this.base.hash,
      done: () => {
        for (const [key, value] of this.settled) if (this.read.has(key)) this.read.set(key, value)
        this.settled = new Map()
        this.settledBytes = 0
      },
    }
  }

  private leafAt(layer: Layer, key: LeafKey): Uint8Array | null | undefined {
    if (layer.isGone) return undefined
    const layers = this.changed.get(key)
    for (let index = (layers?.length ?? 0) - 1; index >= 0; index--) {
      const changed = layers?.[index]
      if (changed !== undefined && isAtOrBelow(changed, layer)) return changed.leaves.get(key)
    }
    return this.settled.get(key) ?? (this.settled.has(key) ? null : this.fromDisk(key))
  }

  private fromDisk(key: LeafKey): Uint8Array | null {
    const known = this.read.get(key)
    if (known !== undefined) return known
    const value = this.disk.leaf(fromNodeKey(key)) ?? null
    this.readBytes += LEAF_BYTES + (value?.length ?? 0)
    if (this.readBytes > MAX_READ_BYTES) {
      this.read.clear()
      this.readBytes = LEAF_BYTES + (value?.length ?? 0)
    }
    this.read.set(key, value)
    return value
  }

  /** The child of the base that a layer above it is, or stands on. */
  private childTowards(layer: Layer): Layer {
    const [only, other] = this.base.children
    if (only !== undefined && other === undefined) return only
    let child = layer
    while (child.parent !== undefined && child.parent !== this.base) child = child.parent
    return child
  }

  private advance(next: Layer): void {
    for (const other of this.base.children) if (other !== next) this.drop(other)
    this.remove(this.base)
    for (const [key, value] of next.leaves) {
      const before = this.settled.get(key)
      if (before === undefined) this.settledBytes += LEAF_BYTES
      this.settledBytes += (value?.length ?? 0) - (before?.length ?? 0)
      this.settled.set(key, value)
    }
    this.forget(next)
    next.branch.from = undefined
    next.parent = undefined
    next.leaves = new Map()
    this.base = next
  }

  /** A layer with all that stand on it. */
  private drop(layer: Layer): void {
    const dropped = [layer]
    for (let one = dropped.pop(); one !== undefined; one = dropped.pop()) {
      this.forget(one)
      this.remove(one)
      dropped.push(...one.children)
    }
  }

  private remove(layer: Layer): void {
    layer.isGone = true
    this.layers.delete(layer.hash)
  }

  private forget(layer: Layer): void {
    this.layerBytes -= layer.bytes
    for (const key of layer.leaves.keys()) {
      const layers = this.changed.get(key) ?? []
      // As a rule it is the first; of what every block changes there are as many as there are layers.
      layers.splice(layers.indexOf(layer), 1)
      if (layers.length === 0) this.changed.delete(key)
    }
  }
}

/** Whether the first layer is the second one or an ancestor of it. */
function isAtOrBelow(first: Layer, second: Layer): boolean {
  let { branch, depth } = second
  while (branch !== first.branch) {
    if (branch.from === undefined) return false
    depth = branch.forkDepth
    branch = branch.from
  }
  return first.depth <= depth
}

function bytesOf(leaves: Leaves): number {
  let bytes = leaves.size * LEAF_BYTES
  for (const value of leaves.values()) bytes += value?.length ?? 0
  return bytes
}
