import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { fromNodeKey, toNodeKey } from './nodeHistory.ts'
import { nodeKey, StateDatabase, type StateStore } from './stateDatabase.ts'
import { stateDifference, trieDifference } from './stateDifference.ts'
import { EMPTY_TRIE_ROOT, Trie } from './trie.ts'
import { WorldState } from './worldState.ts'

/** Keys that share long prefixes, so that extensions and nodes inside of others come about. */
const key = fc
  .tuple(fc.constantFrom(0x00, 0x01, 0x10, 0x11), fc.integer({ min: 0, max: 3 }), fc.constantFrom(0, 0x0f, 0xf0))
  .map(([first, middle, last]) => toHex(Uint8Array.of(first, 0, 0, middle, last)))
const value = fc.uint8Array({ minLength: 1, maxLength: 40 }).map(toHex)
const entries = fc.array(fc.tuple(key, value), { maxLength: 20 }).map((list) => new Map(list))

describe('trieDifference', () => {
  it('tells of each leaf that differs, in the order of the keys', () => {
    fc.assert(
      fc.property(entries, entries, (common, others) => {
        const nodes = new Map<Hex, Uint8Array>()
        const reader = { node: (hash: Uint8Array) => nodes.get(toHex(hash)) ?? expect.unreachable('no such node') }
        const rootOf = (leaves: ReadonlyMap<Hex, Hex>): Uint8Array => {
          const trie = new Trie(reader, null)
          for (const [key, value] of leaves) trie.put(fromHex(key), fromHex(value))
          return fromHex(trie.commit((hash, encoding) => nodes.set(toHex(hash), encoding)))
        }
        const after = new Map([...common, ...others])
        for (const key of [...common.keys()].slice(0, 3)) after.delete(key)
        const expected = [...new Set([...common.keys(), ...after.keys()])]
          .filter((key) => common.get(key) !== after.get(key))
          .sort()
          .map((key) => [key, common.get(key), after.get(key)])
        const told = [...trieDifference(reader, rootOf(common), rootOf(after))].map(({ key, before, after }) => [
          toHex(key),
          before === null ? undefined : toHex(before),
          after === null ? undefined : toHex(after),
        ])
        expect(told).toEqual(expected)
      }),
      { numRuns: propertyRuns(500) },
    )
  })
})

describe('stateDifference', () => {
  class Nodes implements StateStore {
    readonly nodes = new Map<Hex, Uint8Array>()
    reads = 0
    node(hash: Uint8Array, owner?: Uint8Array): Uint8Array | undefined {
      this.reads++
      return this.nodes.get(toHex(nodeKey(hash, owner)))
    }
    code(): undefined {}
  }
  const addressOf = (index: number): Hex => `0x${index.toString(16).padStart(40, '0')}`
  const slotOf = (index: number): Hex => `0x${index.toString(16).padStart(64, '0')}`

  function grown(store: Nodes, root: Hex, change: (world: WorldState) => void) {
    const world = new WorldState(new StateDatabase({ store }), root)
    change(world)
    const changes = world.commit()
    for (const { key, encoding } of changes.nodes) store.nodes.set(toHex(key), encoding)
    return changes
  }

  it('gives what a block changed, storage included, and reads no more than that', () => {
    const store = new Nodes()
    const first = grown(store, EMPTY_TRIE_ROOT, (world) => {
      for (let index = 0; index < 500; index++) {
        world.addBalance(addressOf(index), 5n)
        if (index % 100 === 0)
          for (let slot = 0; slot < 40; slot++) world.putStorage(addressOf(index), slotOf(slot), fromHex('0x07'))
      }
    })
    const second = grown(store, first.root, (world) => {
      world.addBalance(addressOf(3), 1n)
      world.putStorage(addressOf(100), slotOf(2), fromHex('0x09'))
      world.putStorage(addressOf(100), slotOf(3), fromHex('0x'))
      world.putStorage(addressOf(100), slotOf(90), fromHex('0x01'))
      world.deleteAccount(addressOf(200))
      world.deleteAccount(addressOf(300))
      world.setNonce(addressOf(300), 1n)
      world.putStorage(addressOf(300), slotOf(1), fromHex('0x02'))
      world.addBalance(addressOf(1000), 1n)
    })
    const difference = (before: Hex, after: Hex) =>
      new Map(
        [...stateDifference(store, fromHex(before), fromHex(after))].map(({ key, value }) => [toNodeKey(key), value]),
      )
    store.reads = 0
    expect(difference(first.root, second.root)).toEqual(second.leaves)
    expect(store.reads).toBeLessThan(250)
    // Slots of two deleted accounts, but for the one that came back in another form.
    expect([...second.leaves.values()].filter((leaf) => leaf === null)).toHaveLength(1 + 1 + 40 + 39)

    const whole = difference(EMPTY_TRIE_ROOT, second.root)
    const merged = new Map([...first.leaves, ...second.leaves])
    for (const [key, leaf] of merged) if (leaf === null) merged.delete(key)
    expect(whole).toEqual(merged)
    expect(difference(second.root, second.root).size).toBe(0)
    const back = difference(second.root, first.root)
    for (const [key, leaf] of back) expect(leaf).toEqual(first.leaves.get(key) ?? null)
    expect(back.size).toBe(second.leaves.size)
    const order = [...whole.keys()].map((key) => toHex(fromNodeKey(key)))
    expect(order).toEqual(order.toSorted())
  })

  it('reads an account without the trie, but for storage that was cleared', () => {
    const store = new Nodes()
    const { root, leaves } = grown(store, EMPTY_TRIE_ROOT, (world) => {
      world.setNonce(addressOf(1), 1n)
      world.putStorage(addressOf(1), slotOf(1), fromHex('0x07'))
      world.putStorage(addressOf(1), slotOf(2), fromHex('0x08'))
      world.setNonce(addressOf(2), 2n)
    })
    const flat = { leaf: (key: string) => leaves.get(key) ?? null }
    store.reads = 0
    const world = new WorldState(new StateDatabase({ store }), root, flat)
    const opened = store.reads
    expect(world.nonce(addressOf(2))).toBe(2n)
    expect(world.account(addressOf(3))).toBeUndefined()
    expect(toHex(world.storage(addressOf(1), slotOf(1)))).toBe('0x07')
    expect(world.storage(addressOf(1), slotOf(9))).toHaveLength(0)
    expect(store.reads).toBe(opened)
    world.deleteAccount(addressOf(1))
    expect(world.storage(addressOf(1), slotOf(2))).toHaveLength(0)
    world.setNonce(addressOf(1), 1n)
    world.putStorage(addressOf(1), slotOf(1), fromHex('0x05'))
    world.endTransaction()
    expect(world.storage(addressOf(1), slotOf(2))).toHaveLength(0)
    const next = world.commit()
    expect(world.storage(addressOf(1), slotOf(2))).toHaveLength(0)
    const owner = toNodeKey(keccak256(fromHex(addressOf(1))))
    expect(next.leaves.get(owner + toNodeKey(keccak256(fromHex(slotOf(2)))))).toBeNull()
  })
})
