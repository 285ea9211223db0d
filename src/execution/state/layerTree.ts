import type { Hex } from '../../lib/hex.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import { ChainError } from '../errors.ts'
import type { BlockId, DiskLayer, Version } from './diskLayer.ts'
import type { StateView } from './stateDatabase.ts'
import { isNodeKey, type StateKey, type StateWrites } from './stateKeys.ts'

/** Cost of layers: estimated gas to execute their blocks again, and memory. */
export interface LayerCost {
  gas: number
  bytes: number
}

/** The values that a block changed. The base has no writes: they are in `buffer` or on the disk. */
interface DiffLayer {
  readonly number: number
  readonly hash: Hex
  readonly parentHash: Hex
  parent: DiffLayer | undefined
  readonly branch: Branch
  writes: StateWrites
  readonly cost: LayerCost
  readonly children: DiffLayer[]
}

/** A line of layers: each layer is the first child of the one before. */
interface Branch {
  /** The branch of the first layer's parent, and the parent's number. */
  from: Branch | undefined
  forkNumber: number
  /** The number of the first layer's parent if that block is below the base. */
  floor: number | undefined
}

/** Estimated memory of an entry beside its value: key, entries of two maps, array. */
const ENTRY_BYTES = 300
/** Memory for accounts and slots that were read from the disk. */
const MAX_READ_BYTES = 16 * 1024 * 1024
const NEVER: Version = { value: null, number: 0 }

/**
 * The states of many blocks. The disk holds one state, the base, under keys that later states overwrite. Memory holds
 * the changes of the blocks above the base as layers, on all branches. When blocks become old, the lowest layer is
 * merged into the base. If the states before it are still needed, the disk keeps the replaced values as history. The
 * history makes earlier states of the base's chain readable. It restores one of them if the head moves to a branch that
 * begins there.
 */
export class LayerTree {
  private readonly disk: DiskLayer
  /** The base, and the layers above it or above a block in `history`. */
  private readonly layers = new Map<Hex, DiffLayer>()
  /** The layers that changed a value, in the order of their addition. */
  private readonly changed = new Map<StateKey, DiffLayer[]>()
  private base: DiffLayer
  /** Blocks below the base whose states the disk can give, by hash; lowest first. */
  private readonly history: Map<Hex, number>
  /** Layers whose parents are in `history`. */
  private readonly detached = new Set<DiffLayer>()
  /** Changes merged into the base since the last write. Empty while there is a history. */
  private buffer = new Map<StateKey, Version>()
  private readonly buffered: LayerCost = { gas: 0, bytes: 0 }
  private readonly layered: LayerCost = { gas: 0, bytes: 0 }
  /** Cache of accounts and slots as they are on the disk. */
  private readonly read = new Map<StateKey, Uint8Array | null>()
  private readBytes = 0
  private oldest = 0

  constructor(disk: DiskLayer, base: BlockId, history: readonly BlockId[] = []) {
    this.disk = disk
    this.history = new Map(history.map(({ hash, number }) => [hash, number]))
    this.base = this.baseOf(base)
  }

  get baseBlock(): BlockId {
    return this.base
  }

  /** Cost of the states that a crash loses: merged but unwritten changes, and the layers. */
  get unwritten(): { buffered: Readonly<LayerCost>; layered: Readonly<LayerCost> } {
    return { buffered: this.buffered, layered: this.layered }
  }

  has(blockHash: Hex): boolean {
    return this.layers.has(blockHash) || this.history.has(blockHash)
  }

  at(blockHash: Hex): StateView | undefined {
    if (!this.has(blockHash)) return undefined
    return {
      node: (key) => this.valueAt(blockHash, key) ?? undefined,
      leaf: (key) => this.valueAt(blockHash, key),
      isPruned: () => !this.has(blockHash),
    }
  }

  /** Adds the changes of a block. Does nothing if the block is known or its parent is not. */
  add({ number, hash }: BlockId, parentHash: Hex, writes: StateWrites, gas: number): void {
    const parent = this.layers.get(parentHash)
    const floor = this.history.get(parentHash)
    if ((parent === undefined && floor === undefined) || this.has(hash)) return
    const isFirst = parent?.children.length === 0
    const layer: DiffLayer = {
      number,
      hash,
      parentHash,
      parent,
      branch: isFirst ? parent.branch : { from: parent?.branch, forkNumber: number - 1, floor },
      writes,
      cost: { gas, bytes: bytesOf(writes) },
      children: [],
    }
    if (parent === undefined) this.detached.add(layer)
    else parent.children.push(layer)
    this.layers.set(hash, layer)
    addCost(this.layered, layer.cost, 1)
    for (const key of writes.keys()) {
      const layers = this.changed.get(key)
      if (layers === undefined) this.changed.set(key, [layer])
      else layers.push(layer)
    }
  }

  /**
   * Merges layers on the path to the head into the base, up to block `oldest` and at most `limit`. Drops states below
   * `oldest`.
   */
  mergeOldLayers(headHash: Hex, oldest: number, limit: number): void {
    if (!this.layers.has(headHash)) return
    this.oldest = oldest
    for (const [hash, number] of this.history) {
      if (number >= oldest) break
      this.history.delete(hash)
    }
    for (const layer of this.detached) if (layer.number <= oldest) this.drop(layer)
    for (const next of this.pathTo(headHash).slice(0, limit)) {
      if (next.number > oldest) break
      for (const other of [...this.base.children]) if (other !== next) this.drop(other)
      for (const [key, value] of next.writes) {
        const before = this.buffer.get(key)
        if (before === undefined) this.buffered.bytes += ENTRY_BYTES
        this.buffered.bytes += (value?.length ?? 0) - (before?.value?.length ?? 0)
        this.buffer.set(key, { value, number: next.number })
      }
      this.buffered.gas += next.cost.gas
      this.becomeBase(next)
    }
  }

  /**
   * Whether the block's state descends from the base, so that the base can follow it. If false, call `stepBack` until
   * it is true. Undefined for an unknown block.
   */
  descendsFromBase(blockHash: Hex): boolean | undefined {
    if (this.history.has(blockHash)) return false
    const layer = this.layers.get(blockHash)
    return layer && floorOf(layer) === undefined
  }

  /** Makes the parent of the base's block the base. Drops the layers above the old base. */
  async stepBack(): Promise<void> {
    const { base } = this
    for (const child of [...base.children]) this.drop(child)
    // During the write, the disk holds parts of both states. So the parent's state is read from the history until it
    // ends.
    this.layers.delete(base.hash)
    let hash: Hex
    try {
      hash = await this.disk.undo(base)
    } catch (error) {
      this.layers.set(base.hash, base)
      throw error
    }
    this.read.clear()
    this.readBytes = 0
    this.history.delete(hash)
    this.base = this.baseOf({ number: base.number - 1, hash })
    for (const child of this.detached) {
      if (child.parentHash !== hash) continue
      this.detached.delete(child)
      child.parent = this.base
      child.branch.floor = undefined
      this.base.children.push(child)
    }
  }

  /**
   * Writes the merged changes, and the lowest layers on the path to the head, until at most `rest` is left. Only reads
   * may happen meanwhile.
   */
  async write(headHash: Hex, rest: LayerCost): Promise<void> {
    const layers = this.lowest(headHash, rest)
    const writing = await this.disk.begin(this.oldest)
    const merged = new Map<StateKey, Version>()
    for (const { number, parentHash, writes } of layers) {
      const deleted: StateKey[] = []
      for (const [key, value] of writes) {
        await yieldToLoop()
        const before = merged.get(key) ?? this.buffer.get(key) ?? this.disk.version(key) ?? NEVER
        if (value === null && before.value === null) continue
        if (number > this.oldest) writing.keep(number, key, before)
        if (value === null) deleted.push(key)
        merged.set(key, { value, number })
      }
      if (number > this.oldest) writing.keepBlock(number, parentHash, deleted)
    }
    for (const values of [this.buffer, merged]) {
      for (const [key, version] of values) {
        await yieldToLoop()
        if (values === merged || !merged.has(key)) writing.put(key, version)
      }
    }
    await writing.commit(layers.at(-1) ?? this.base)
    for (const values of [this.buffer, merged]) {
      for (const [key, { value }] of values) if (this.read.has(key)) this.read.set(key, value)
    }
    this.buffer = new Map()
    addCost(this.buffered, this.buffered, -1)
    for (const layer of layers) {
      const isKept = layer.number > this.oldest
      if (isKept) this.history.set(this.base.hash, this.base.number)
      for (const other of [...this.base.children]) {
        if (other === layer) continue
        if (isKept) this.detach(other)
        else this.drop(other)
      }
      this.becomeBase(layer)
    }
  }

  /** Drops the layers that are not on the path to the head. */
  dropBranches(headHash: Hex): void {
    const kept = new Set([this.base, ...this.pathTo(headHash)])
    for (const layer of [...this.detached, ...this.layers.values()]) {
      if (!kept.has(layer) && this.layers.has(layer.hash)) this.drop(layer)
    }
  }

  private valueAt(blockHash: Hex, key: StateKey): Uint8Array | null {
    const layer = this.layers.get(blockHash)
    const layers = layer === undefined ? undefined : this.changed.get(key)
    if (layer !== undefined && layers !== undefined) {
      for (let index = layers.length - 1; index >= 0; index--) {
        const changed = layers[index]
        if (changed !== undefined && isAtOrBelow(changed, layer)) return changed.writes.get(key) ?? null
      }
    }
    const floor = layer === undefined ? this.history.get(blockHash) : floorOf(layer)
    if (floor !== undefined) return this.valueBelow(floor, key)
    if (layer !== undefined) return this.valueOfBase(key)
    throw new ChainError('state-gone', `the state of block ${blockHash} was pruned`)
  }

  private valueOfBase(key: StateKey): Uint8Array | null {
    const buffered = this.buffer.get(key)
    if (buffered !== undefined) return buffered.value
    // Trie nodes are cached decoded, in StateDatabase.
    if (isNodeKey(key)) return this.valueBelow(this.base.number, key)
    const known = this.read.get(key)
    if (known !== undefined) return known
    const value = this.valueBelow(this.base.number, key)
    this.readBytes += ENTRY_BYTES + (value?.length ?? 0)
    if (this.readBytes > MAX_READ_BYTES) {
      this.read.clear()
      this.readBytes = ENTRY_BYTES + (value?.length ?? 0)
    }
    this.read.set(key, value)
    return value
  }

  /**
   * The value in the state of a block at or below the disk's state. The disk may be ahead of this tree while a write
   * completes.
   */
  private valueBelow(number: number, key: StateKey): Uint8Array | null {
    let version = this.disk.version(key) ?? NEVER
    while (version.number > number) version = this.disk.replaced(version.number, key)
    return version.value
  }

  private baseOf({ number, hash }: BlockId): DiffLayer {
    const layer: DiffLayer = {
      number,
      hash,
      parentHash: hash,
      parent: undefined,
      branch: { from: undefined, forkNumber: 0, floor: undefined },
      writes: new Map(),
      cost: { gas: 0, bytes: 0 },
      children: [],
    }
    this.layers.set(hash, layer)
    return layer
  }

  /** The path from the base up to the head. Empty if the head does not descend from the base. */
  private pathTo(headHash: Hex): DiffLayer[] {
    const path: DiffLayer[] = []
    for (let layer = this.layers.get(headHash); layer !== this.base; layer = layer.parent) {
      if (layer === undefined) return []
      path.push(layer)
    }
    return path.reverse()
  }

  private lowest(headHash: Hex, rest: LayerCost): DiffLayer[] {
    const left = { ...this.layered }
    const lowest: DiffLayer[] = []
    for (const layer of this.pathTo(headHash)) {
      if (left.gas <= rest.gas && left.bytes <= rest.bytes) break
      addCost(left, layer.cost, -1)
      lowest.push(layer)
    }
    return lowest
  }

  /** Its state is on the disk or in `buffer`. */
  private becomeBase(next: DiffLayer): void {
    this.layers.delete(this.base.hash)
    this.forget(next)
    next.branch.from = undefined
    next.branch.floor = undefined
    next.parent = undefined
    next.writes = new Map()
    this.base = next
  }

  /** Detaches a layer from the base, which becomes history. */
  private detach(layer: DiffLayer): void {
    layer.parent = undefined
    layer.branch.from = undefined
    layer.branch.floor = this.base.number
    this.detached.add(layer)
  }

  private drop(layer: DiffLayer): void {
    const siblings = layer.parent?.children
    siblings?.splice(siblings.indexOf(layer), 1)
    const dropped = [layer]
    for (let one = dropped.pop(); one !== undefined; one = dropped.pop()) {
      this.forget(one)
      this.layers.delete(one.hash)
      this.detached.delete(one)
      dropped.push(...one.children)
    }
  }

  private forget(layer: DiffLayer): void {
    addCost(this.layered, layer.cost, -1)
    for (const key of layer.writes.keys()) {
      const layers = this.changed.get(key) ?? []
      // Usually the first one. For a key that every block changes, there are as many as layers.
      layers.splice(layers.indexOf(layer), 1)
      if (layers.length === 0) this.changed.delete(key)
    }
  }
}

/** Whether the first layer is the second one or its ancestor. */
function isAtOrBelow(first: DiffLayer, second: DiffLayer): boolean {
  let { branch, number } = second
  while (branch !== first.branch) {
    if (branch.from === undefined) return false
    number = branch.forkNumber
    branch = branch.from
  }
  return first.number <= number
}

/** The number of the block below the base from which the layer descends. Undefined if it descends from the base. */
function floorOf({ branch }: DiffLayer): number | undefined {
  let lowest = branch
  while (lowest.from !== undefined) lowest = lowest.from
  return lowest.floor
}

function addCost(sum: LayerCost, { gas, bytes }: LayerCost, sign: 1 | -1): void {
  sum.gas += sign * gas
  sum.bytes += sign * bytes
}

function bytesOf(writes: StateWrites): number {
  let bytes = writes.size * ENTRY_BYTES
  for (const value of writes.values()) bytes += value?.length ?? 0
  return bytes
}
