import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { FlatState } from './flatState.ts'
import { fromNodeKey, toNodeKey } from './nodeHistory.ts'
import type { LeafKey } from './stateChanges.ts'

type Leaf = Uint8Array | null

interface ModelBlock {
  number: number
  hash: Hex
  parent: ModelBlock | undefined
  /** All leaves of its state. */
  state: Map<LeafKey, Leaf>
}

const KEYS: LeafKey[] = ['a', 'b', 'cc', 'dd'].map((text) => text.padEnd(32, '.'))

class MemoryDisk {
  readonly leaves = new Map<LeafKey, Uint8Array>()
  blockHash: Hex = '0x0'

  leaf(key: Uint8Array): Uint8Array | undefined {
    return this.leaves.get(toNodeKey(key))
  }
}

/** A tree of blocks beside their flat state. */
class Model {
  readonly disk = new MemoryDisk()
  readonly blocks: ModelBlock[] = [{ number: 0, hash: '0x0', parent: undefined, state: new Map() }]
  flat = new FlatState(this.disk, { number: 0, hash: '0x0' })
  head = this.blocks[0]

  private readonly layers: number

  constructor(layers: number) {
    this.layers = layers
  }

  extend(below: number, key: LeafKey, value: Leaf): void {
    const parent = this.blocks.at(-1 - (below % this.blocks.length))
    if (parent === undefined) return
    const block: ModelBlock = {
      number: parent.number + 1,
      hash: `0x${this.blocks.length.toString(16)}`,
      parent,
      state: new Map(parent.state).set(key, value),
    }
    this.blocks.push(block)
    this.flat.add(block, parent.hash, new Map([[key, value]]))
  }

  setHead(below: number): void {
    const head = this.blocks.at(-1 - (below % this.blocks.length))
    if (head === undefined) return
    this.head = head
    const base = this.blocks.find(({ hash }) => hash === this.flat.baseBlock.hash)
    if (this.flat.at(head.hash) === undefined && base !== undefined) {
      const keys = new Set([...base.state.keys(), ...head.state.keys()])
      const bridge = new Map<LeafKey, Leaf>()
      for (const key of keys) bridge.set(key, head.state.get(key) ?? null)
      this.flat.add(head, base.hash, bridge)
    }
    this.flat.settle(head.hash, { layers: this.layers, layerBytes: Number.POSITIVE_INFINITY, oldest: 0 })
  }

  write(): void {
    const { leaves, blockHash, done } = this.flat.writes()
    for (const [key, value] of leaves) {
      if (value === null) this.disk.leaves.delete(key)
      else this.disk.leaves.set(key, value)
    }
    this.disk.blockHash = blockHash
    done()
  }

  crash(): void {
    const written = this.blocks.find(({ hash }) => hash === this.disk.blockHash)
    if (written !== undefined) this.flat = new FlatState(this.disk, written)
  }

  /** What is answered is right, and the head is answered. */
  expectRight(): void {
    for (const { hash, state } of this.blocks) {
      const view = this.flat.at(hash)
      if (view !== undefined) {
        for (const key of KEYS) expect(view.leaf(key)).toEqual(state.get(key) ?? null)
      }
    }
    const written = this.blocks.find(({ hash }) => hash === this.disk.blockHash)?.state
    for (const key of KEYS) expect(this.disk.leaf(fromNodeKey(key)) ?? null).toEqual(written?.get(key) ?? null)
  }
}

const near = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(12) })
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('extend' as const),
      below: near,
      key: fc.constantFrom(...KEYS),
      value: fc.option(fc.uint8Array({ minLength: 1, maxLength: 1 })),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('head' as const), below: near }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('write' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
)

it('reads every state that it keeps as it is, on all branches, and always the head', () => {
  fc.assert(
    fc.property(fc.nat(3), fc.array(step, { maxLength: 80 }), (layers, steps) => {
      const model = new Model(layers)
      for (const given of steps) {
        if (given.kind === 'extend') model.extend(given.below, given.key, given.value)
        else if (given.kind === 'write') model.write()
        else if (given.kind === 'crash') model.crash()
        else {
          model.setHead(given.below)
          expect(model.flat.at(model.head?.hash ?? '0x')).toBeDefined()
        }
        model.expectRight()
      }
    }),
    { numRuns: propertyRuns(400) },
  )
})

it('keeps so many blocks above the one on the disk as fit the memory', () => {
  const flat = new FlatState(new MemoryDisk(), { number: 0, hash: '0x0' })
  const leaf = new Uint8Array(1000)
  const hashOf = (number: number): Hex => `0x${number.toString(16)}`
  for (let number = 1; number <= 20; number++) {
    flat.add({ number, hash: hashOf(number) }, hashOf(number - 1), new Map([[`${number}`.padEnd(32), leaf]]))
    flat.settle(hashOf(number), { layers: 100, layerBytes: 6000, oldest: 0 })
  }
  expect(flat.baseBlock.number).toBe(16)
  expect(flat.writes().leaves.size).toBe(16)
})

it('knows nothing of a state once its branch is given up, also for those who read it', () => {
  const flat = new FlatState(new MemoryDisk(), { number: 0, hash: '0x0' })
  const [key = ''] = KEYS
  flat.add({ number: 1, hash: '0x1' }, '0x0', new Map([[key, Uint8Array.of(1)]]))
  flat.add({ number: 1, hash: '0x2' }, '0x0', new Map([[key, Uint8Array.of(2)]]))
  const views = [flat.at('0x0'), flat.at('0x1'), flat.at('0x2')]
  expect(views.map((view) => view?.leaf(key))).toEqual([null, Uint8Array.of(1), Uint8Array.of(2)])
  flat.settle('0x2', { layers: 0, layerBytes: 0, oldest: 0 })
  expect(views.map((view) => view?.leaf(key))).toEqual([undefined, undefined, Uint8Array.of(2)])
  expect(flat.at('0x1')).toBeUndefined()
})

it('reads what was changed before a branch was given up that changed the same later', () => {
  const flat = new FlatState(new MemoryDisk(), { number: 0, hash: '0x0' })
  const [key = ''] = KEYS
  flat.add({ number: 1, hash: '0x1' }, '0x0', new Map([[key, Uint8Array.of(1)]]))
  flat.add({ number: 2, hash: '0x2' }, '0x1', new Map([[key, Uint8Array.of(2)]]))
  flat.add({ number: 1, hash: '0x3' }, '0x0', new Map([[key, Uint8Array.of(3)]]))
  flat.settle('0x2', { layers: 1, layerBytes: Number.POSITIVE_INFINITY, oldest: 0 })
  expect(flat.baseBlock.hash).toBe('0x1')
  expect([flat.at('0x1'), flat.at('0x2')].map((view) => view?.leaf(key))).toEqual([Uint8Array.of(1), Uint8Array.of(2)])
})

it('has a base whose trie is there still, also where one layer stands for many blocks', () => {
  const flat = new FlatState(new MemoryDisk(), { number: 10, hash: '0xa' })
  flat.add({ number: 20, hash: '0x14' }, '0xa', new Map())
  flat.add({ number: 21, hash: '0x15' }, '0x14', new Map())
  const limits = { layers: 7, layerBytes: 1000 }
  flat.settle('0x15', { ...limits, oldest: 10 })
  expect(flat.baseBlock.number).toBe(10)
  flat.settle('0x15', { ...limits, oldest: 11 })
  expect(flat.baseBlock.number).toBe(20)
  // It is given up together with the branch that it stands on, when the other one is fixed up to its number.
  flat.add({ number: 15, hash: '0xf' }, '0x14', new Map())
  flat.settle('0xf', { ...limits, oldest: 14 })
  expect(flat.baseBlock.number).toBe(20)
  flat.settle('0xf', { ...limits, oldest: 15 })
  expect(flat.baseBlock.number).toBe(15)
})
