import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import {
  type BlockId,
  fromNodeKey,
  type NodeDelta,
  NodeHistory,
  type NodeKey,
  type NodeWrites,
  toNodeKey,
} from './nodeHistory.ts'

/** A state is a value in each of four places; a node is a place with its value, so that states come back to nodes. */
type State = readonly number[]

interface ModelBlock extends BlockId {
  parent: ModelBlock | undefined
  state: State
}

const keyOf = (place: number, value: number): NodeKey => `${place}=${value}`.padEnd(32, 'x')
const keysOf = (state: State): NodeKey[] => state.map((value, place) => keyOf(place, value))

class MemoryDisk {
  readonly nodes = new Map<NodeKey, Uint8Array>()
  readonly extraLives = new Map<NodeKey, number>()
  readonly deltas = new Map<Hex, { block: BlockId; delta: NodeDelta }>()
  prunedTo = 0

  node(key: Uint8Array): Uint8Array | undefined {
    return this.nodes.get(toNodeKey(key))
  }

  delta({ hash }: BlockId): NodeDelta | undefined {
    return this.deltas.get(hash)?.delta
  }

  open(): NodeHistory {
    const deltas = [...this.deltas.values()].map(({ block }) => block)
    return new NodeHistory(this, { prunedTo: this.prunedTo, deltas, extraLives: this.extraLives })
  }

  write(writes: NodeWrites): void {
    for (const [key, encoding] of writes.puts) this.nodes.set(key, encoding)
    for (const key of writes.deletes) this.nodes.delete(key)
    for (const [key, count] of writes.extraLives) {
      if (count === 0) this.extraLives.delete(key)
      else this.extraLives.set(key, count)
    }
    for (const { hash } of writes.endedDeltas) this.deltas.delete(hash)
    for (const entry of writes.deltas) this.deltas.set(entry.block.hash, { ...entry, delta: { ...entry.delta } })
    this.prunedTo = writes.prunedTo
    writes.done()
  }
}

/** A chain with its disk, and what must be readable. */
class Model {
  readonly disk = new MemoryDisk()
  readonly genesis: ModelBlock = { number: 0, hash: '0x0', parent: undefined, state: [0, 0, 0, 0] }
  history: NodeHistory
  head = this.genesis
  finalized = 0
  /** Whose states are there. */
  known: ModelBlock[] = [this.genesis]
  private count = 0
  private highest = 0

  constructor() {
    for (const key of keysOf(this.genesis.state)) this.disk.nodes.set(key, new Uint8Array(1))
    this.history = this.disk.open()
  }

  extend(parentIndex: number, place: number, value: number): void {
    const parent = this.known[this.known.length - 1 - (parentIndex % Math.min(this.known.length, 5))] ?? this.genesis
    const state = parent.state.map((old, index) => (index === place ? value : old))
    this.add({ number: parent.number + 1, hash: `0x${(++this.count).toString(16)}`, parent, state })
  }

  setHead(index: number): void {
    const head = this.known.at(-1 - (index % this.known.length))
    if (head !== undefined && this.ancestor(head, this.finalized) === this.ancestor(this.head, this.finalized)) {
      this.head = head
    }
  }

  finalize(distance: number, limit = 3): void {
    this.finalized = Math.max(this.finalized, this.head.number - distance)
    this.history.pruneTo(this.finalized, (number) => this.ancestor(this.head, number)?.hash, limit)
    const oldest = this.ancestor(this.head, this.history.prunedTo)
    this.known = this.known.filter((block) => oldest === undefined || this.ancestor(block, oldest.number) === oldest)
  }

  /** Goes on until every block of another branch is below the oldest state. */
  outlive(): void {
    const highest = this.highest
    while (this.head.number <= highest) {
      this.add({
        number: this.head.number + 1,
        hash: `0x${(++this.count).toString(16)}`,
        parent: this.head,
        state: this.head.state,
      })
      this.head = this.known.at(-1) ?? this.head
    }
    this.finalize(0, 1000)
  }

  async write(all: boolean): Promise<void> {
    this.disk.write(await this.history.writes(all))
  }

  /** What was in memory is lost; the head's branch is executed again. */
  crash(): void {
    this.history = this.disk.open()
    const path: ModelBlock[] = []
    for (let block: ModelBlock | undefined = this.head; block !== undefined; block = block.parent) path.unshift(block)
    const isOnDisk = (block: ModelBlock) => keysOf(block.state).every((key) => this.disk.nodes.has(key))
    const isListed = (block: ModelBlock) => block.number <= this.disk.prunedTo || this.disk.deltas.has(block.hash)
    this.known = this.known.filter((block) => isListed(block) && isOnDisk(block))
    for (const block of path) if (!isListed(block)) this.add(block)
  }

  expectReadable(): void {
    for (const { state } of this.known) {
      for (const key of keysOf(state)) expect(this.history.node(fromNodeKey(key))).toBeDefined()
    }
  }

  /** Nothing is on the disk but states that are kept. */
  expectExact(): void {
    const expected = new Set(
      this.known.filter(({ number }) => number >= this.disk.prunedTo).flatMap(({ state }) => keysOf(state)),
    )
    expect([...this.disk.nodes.keys()].sort()).toEqual([...expected].sort())
    for (const { block } of this.disk.deltas.values()) expect(block.number).toBeGreaterThan(this.disk.prunedTo)
  }

  private add(block: ModelBlock): void {
    const [before, after] = [keysOf(block.parent?.state ?? []), keysOf(block.state)]
    const nodes = after.filter((key) => !before.includes(key))
    const replaced = before.filter((key) => !after.includes(key))
    this.history.add(
      block,
      {
        nodes: nodes.map((key) => ({ key: fromNodeKey(key), encoding: new Uint8Array(1) })),
        replaced: replaced.map(fromNodeKey),
      },
      1,
    )
    this.known.push(block)
    this.highest = Math.max(this.highest, block.number)
  }

  private ancestor(block: ModelBlock, number: number): ModelBlock | undefined {
    let found: ModelBlock | undefined = block
    while (found !== undefined && found.number > number) found = found.parent
    return found?.number === number ? found : undefined
  }
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('extend' as const),
      parent: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(4)),
      place: fc.nat(1),
      value: fc.nat(1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('head' as const),
      block: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat()),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('finalize' as const), distance: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('write' as const), all: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
)

const run = async (steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]): Promise<void> => {
  const model = new Model()
  for (const given of steps) {
    if (given.kind === 'extend') model.extend(given.parent, given.place, given.value)
    else if (given.kind === 'head') model.setHead(given.block)
    else if (given.kind === 'finalize') model.finalize(given.distance)
    else if (given.kind === 'write') await model.write(given.all)
    else model.crash()
    model.expectReadable()
  }
  model.outlive()
  await model.write(true)
  model.expectReadable()
  model.expectExact()
}

it('keeps every state from the oldest on, on all branches, and nothing else', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), run), { numRuns: propertyRuns(1500) })
})

it('never writes what is replaced before it is the oldest state', async () => {
  const model = new Model()
  for (let value = 1; value <= 50; value++) {
    model.extend(0, 1, value)
    model.setHead(0)
    model.finalize(2)
  }
  const writes = await model.history.writes(false)
  expect([...writes.puts.keys()]).toEqual([keyOf(1, 48)])
  expect(writes.deletes).toEqual([keyOf(1, 0)])
  expect(writes.deltas).toEqual([])
})

it('keeps a node that was written while a later block brought it back', async () => {
  const model = new Model()
  model.extend(0, 1, 1)
  model.setHead(0)
  model.finalize(0)
  model.extend(0, 1, 2)
  model.extend(0, 1, 1)
  model.setHead(0)
  await model.write(false)
  model.finalize(0)
  await model.write(false)
  model.expectReadable()
  model.expectExact()
})
