import type { Hex } from '../../lib/hex.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import { ChainError } from '../errors.ts'
import type { BlockId, DiskLayer, Version } from './diskLayer.ts'
import type { StateView } from './stateDatabase.ts'
import { isNodeKey, type StateKey, type StateWrites } from './stateKeys.ts'

/** Cost of layers: gas, about, to make them again, and memory. */
export interface LayerCost {
  gas: number
  bytes: number
}

/** What a block changed. The base, which is on the disk or goes there next, has none. */
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

/** Layers each of which is the first child of the one before. */
interface Branch {
  /** That of the parent of its first layer, and the parent's number. */
  from: Branch | undefined
  forkNumber: number
  /** The number of the parent of its first layer where that is below the base. */
  floor: number | undefined
}

/** What a value takes beside its bytes, about: key, places in two maps, array. */
const ENTRY_BYTES = 300
/** Memory for accounts and slots that were read from the disk. */
const MAX_READ_BYTES = 16 * 1024 * 1024
const NEVER: Version = { value: null, number: 0 }

/**
 * States by block: one, the base, on the disk, by places that later states overwrite; what the blocks above it changed in
 * memory, as layers, on all branches. As blocks become old the lowest layer becomes part of the base. If that happens
 * before its parent's state may be given up, the disk keeps what it replaced: so earlier states of the base's chain can be
 * read, and restored when the head goes over to a branch that begins there.
 */
export class LayerTree {
  private readonly disk: DiskLayer
  /** The base, and the layers above it and above `history`. */
  private readonly layers = new Map<Hex, DiffLayer>()
  /** The layers that changed a value, in the order in which they came. */
  private readonly changed = new Map<StateKey, DiffLayer[]>()
  private base: DiffLayer
  /** Blocks below the base whose states the disk can give, by hash; lowest first. */
  private readonly history: Map<Hex, number>
  /** Layers whose parents are in `history`. */
  private readonly detached = new Set<DiffLayer>()
  /** Changed by what became the base since the disk was written. Empty where there is a history. */
  private buffer = new Map<StateKey, Version>()
  private readonly buffered: LayerCost = { gas: 0, bytes: 0 }
  private readonly layered: LayerCost = { gas: 0, bytes: 0 }
  /** Accounts and slots as they are on the disk. */
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

  /** Of what would have to be made again after a crash: the base as far as it is not written, and the layers. */
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
      isGone: () => !this.has(blockHash),
    }
  }

  /** What a block changed in the state of its parent. Does nothing for a block that is known, or whose parent is not. */
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

  /** Makes later blocks below the head the base, up to block `oldest`, `limit` of them at most. Gives up states before it. */
  settle(headHash: Hex, oldest: number, limit: number): void {
    const head = this.layers.get(headHash)
    if (head === undefined) return
    this.oldest = oldest
    for (const [hash, number] of this.history) {
      if (number >= oldest) break
      this.history.delete(hash)
    }
    for (const layer of this.detached) if (layer.number <= oldest) this.drop(layer)
    for (let left = limit; left > 0 && this.base.number < oldest && head !== this.base; left--) {
      const next = this.childTowards(head)
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
   * Whether the block's state stands on the base, so that the base can follow it. If not, `stepBack` is to be called until it
   * does; undefined where that does not help.
   */
  standsOnBase(blockHash: Hex): boolean | undefined {
    if (this.history.has(blockHash)) return false
    const layer = this.layers.get(blockHash)
    return layer && floorOf(layer) === undefined
  }

  /** Makes the parent of the base's block the base. What stands on the block is given up. */
  async stepBack(): Promise<void> {
    const { base } = this
    for (const child of [...base.children]) this.drop(child)
    // Its state is not whole while the disk steps back. The one before is read as an earlier one till then.
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
   * Writes what became the base, and as many layers towards the head that at most `rest` is left above them. Nothing else but
   * reads may happen meanwhile.
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

  /** Gives up the layers that are not on the way to the head. */
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
    throw new ChainError('state-gone', `the state of block ${blockHash} is not kept any more`)
  }

  private valueOfBase(key: StateKey): Uint8Array | null {
    const buffered = this.buffer.get(key)
    if (buffered !== undefined) return buffered.value
    // Nodes are kept decoded.
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

  /** In the state of a block that the disk has, or is beyond: later values may be there before this tree hears that they are. */
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

  /** From the base up to the head; empty where it does not stand on the base. */
  private pathTo(headHash: Hex): DiffLayer[] {
    const path: DiffLayer[] = []
    for (let layer = this.layers.get(headHash); layer !== this.base; layer = layer.parent) {
      if (layer === undefined) return []
      path.unshift(layer)
    }
    return path
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

  /** The child of the base that a layer above it is, or stands on. */
  private childTowards(layer: DiffLayer): DiffLayer {
    const [only, other] = this.base.children
    if (only !== undefined && other === undefined) return only
    let child = layer
    while (child.parent !== undefined && child.parent !== this.base) child = child.parent
    return child
  }

  /** Its state is on the disk, or in `buffer`. */
  private becomeBase(next: DiffLayer): void {
    this.layers.delete(this.base.hash)
    this.forget(next)
    next.branch.from = undefined
    next.branch.floor = undefined
    next.parent = undefined
    next.writes = new Map()
    this.base = next
  }

  /** The base, on which it stands, becomes history. */
  private detach(layer: DiffLayer): void {
    layer.parent = undefined
    layer.branch.from = undefined
    layer.branch.floor = this.base.number
    this.detached.add(layer)
  }

  /** A layer with all that stand on it. */
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
      // As a rule it is the first; of what every block changes there are as many as there are layers.
      layers.splice(layers.indexOf(layer), 1)
      if (layers.length === 0) this.changed.delete(key)
    }
  }
}

/** Whether the first layer is the second one or an ancestor of it. */
function isAtOrBelow(first: DiffLayer, second: DiffLayer): boolean {
  let { branch, number } = second
  while (branch !== first.branch) {
    if (branch.from === undefined) return false
    number = branch.forkNumber
    branch = branch.from
  }
  return first.number <= number
}

/** The number of the block below the base on which a layer stands; undefined where that is the base. */
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
