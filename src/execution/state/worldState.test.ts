import { MerkleStateManager } from '@ethereumjs/statemanager'
import { Account, createAddressFromString } from '@ethereumjs/util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToMinimalBytes, concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { EMPTY_TRIE_ROOT } from '../../rollup/protocol/constants.ts'
import { EMPTY_CODE_HASH, EMPTY_STORAGE_ROOT } from './account.ts'
import { MissingNodeError, NO_STATE, StateDatabase, type StateSource, type StateView } from './stateDatabase.ts'
import { isNodeKey, nodePrefix, type StateChanges, type StateKey } from './stateKeys.ts'
import type { Trie } from './trie.ts'
import { fromNibbles } from './trieNode.ts'
import { WorldState } from './worldState.ts'

/** All states by the hashes of their nodes, and the last one by path. */
class MemoryStore {
  readonly nodes = new Map<Hex, Uint8Array>()
  readonly places = new Map<StateKey, Uint8Array>()
  readonly codes = new Map<Hex, Uint8Array>()

  readonly byHash: StateView = { ...NO_STATE, node: (_, hash) => this.nodes.get(toHex(hash)) }
  readonly byPlace: StateView = { ...NO_STATE, node: (key) => this.places.get(key) }
  readonly flat: StateView = { ...this.byPlace, leaf: (key) => this.places.get(key) ?? null }

  code(hash: Uint8Array): Uint8Array | undefined {
    return this.codes.get(toHex(hash))
  }

  write({ writes, codes }: StateChanges): void {
    for (const [key, value] of writes) {
      if (value === null) this.places.delete(key)
      else this.places.set(key, value)
      if (value !== null && isNodeKey(key)) this.nodes.set(toHex(keccak256(value)), value)
    }
    for (const { hash, code } of codes) this.codes.set(toHex(hash), code)
  }
}

const address = (index: number): Hex => `0x${(index + 1).toString(16).padStart(40, '0')}`
const slot = (index: number): Hex => `0x${index.toString(16).padStart(64, '0')}`

type Action =
  | { kind: 'balance'; account: number; amount: bigint }
  | { kind: 'nonce'; account: number; nonce: bigint }
  | { kind: 'code'; account: number; code: Uint8Array }
  | { kind: 'slot'; account: number; slot: number; value: bigint }
  | { kind: 'delete'; account: number }
  | { kind: 'checkpoint' | 'commit' | 'revert' | 'block' }

const account = fc.integer({ min: 0, max: 4 })
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant('balance' as const), account, amount: fc.bigInt({ min: 0n, max: 10n ** 24n }) }),
  fc.record({ kind: fc.constant('nonce' as const), account, nonce: fc.bigInt({ min: 0n, max: 300n }) }),
  fc.record({ kind: fc.constant('code' as const), account, code: fc.uint8Array({ minLength: 1, maxLength: 60 }) }),
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('slot' as const),
      account,
      slot: fc.integer({ min: 0, max: 6 }),
      value: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 2n ** 256n - 1n })),
    }),
  },
  fc.record({ kind: fc.constant('delete' as const), account }),
  fc.record({ kind: fc.constantFrom('checkpoint' as const, 'commit' as const, 'revert' as const, 'block' as const) }),
)

interface ModelAccount {
  nonce: bigint
  balance: bigint
  code: Hex
  slots: Map<number, bigint>
}

/** A simple model of a state: checkpoints copy everything. */
class Model {
  accounts = new Map<number, ModelAccount>()
  private saved: Map<number, ModelAccount>[] = []

  get depth(): number {
    return this.saved.length
  }

  change(index: number, edit: (account: ModelAccount) => void): void {
    const found = this.accounts.get(index) ?? { nonce: 0n, balance: 0n, code: '0x', slots: new Map() }
    this.accounts.set(index, found)
    edit(found)
  }

  checkpoint(): void {
    this.saved.push(this.copy())
  }

  commit(): void {
    this.saved.pop()
  }

  revert(): void {
    this.accounts = this.saved.pop() ?? this.accounts
  }

  private copy(): Map<number, ModelAccount> {
    return new Map([...this.accounts].map(([index, found]) => [index, { ...found, slots: new Map(found.slots) }]))
  }
}

/** Root by EthereumJS's state manager, with the same accounts added one by one. */
async function referenceRoot(accounts: Map<number, ModelAccount>): Promise<Hex> {
  const manager = new MerkleStateManager()
  for (const [index, { nonce, balance, code, slots }] of accounts) {
    const key = createAddressFromString(address(index))
    await manager.putAccount(key, new Account(nonce, balance, EMPTY_STORAGE_ROOT, EMPTY_CODE_HASH))
    if (code !== '0x') await manager.putCode(key, fromHex(code))
    for (const [number, value] of slots) {
      if (value !== 0n) await manager.putStorage(key, fromHex(slot(number)), bigIntToMinimalBytes(value))
    }
  }
  await manager.flush()
  return toHex(await manager.getStateRoot())
}

/** All nodes and leaves below the root, in the tries of accounts and storage. */
function keysOfState(source: StateSource, root: Hex): Set<StateKey> {
  const keys = new Set<StateKey>()
  const world = new WorldState(source, root)
  const visit = (trie: Trie, owner?: Uint8Array) =>
    trie.forEachNode((node, above) => {
      if (node.ref?.length === 32) keys.add(nodePrefix(owner) + textOf(above))
      if (node.kind !== 'leaf') return
      const leaf = textOf(fromNibbles(concatBytes(above, node.key)))
      keys.add(owner === undefined ? `a${leaf}` : `o${textOf(owner)}${leaf}`)
    })
  visit(source.openTrie(fromHex(root)))
  for (let index = 0; index < 5; index++) {
    const owner = address(index)
    visit(source.openTrie(fromHex(world.storageRoot(owner)), owner), source.hashKey(owner))
  }
  return keys
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

function apply(world: WorldState, model: Model, step: Action): void {
  switch (step.kind) {
    case 'balance':
      world.addBalance(address(step.account), step.amount)
      model.change(step.account, (found) => {
        found.balance += step.amount
      })
      break
    case 'nonce':
      world.setNonce(address(step.account), step.nonce)
      model.change(step.account, (found) => {
        found.nonce = step.nonce
      })
      break
    case 'code':
      world.putCode(address(step.account), step.code)
      model.change(step.account, (found) => {
        found.code = toHex(step.code)
      })
      break
    case 'slot':
      // As in the EVM, only existing accounts have storage.
      if (!model.accounts.has(step.account)) return
      world.putStorage(address(step.account), slot(step.slot), bigIntToMinimalBytes(step.value))
      model.change(step.account, (found) => found.slots.set(step.slot, step.value))
      break
    case 'delete':
      world.deleteAccount(address(step.account))
      model.accounts.delete(step.account)
      break
    case 'checkpoint':
      world.checkpoint()
      model.checkpoint()
      break
    case 'commit':
      if (model.depth === 0) return
      world.commitCheckpoint()
      model.commit()
      break
    case 'revert':
      if (model.depth === 0) return
      world.revertCheckpoint()
      model.revert()
      break
    case 'block':
  }
}

function expectSame(world: WorldState, model: Model): void {
  for (let index = 0; index < 5; index++) {
    const expected = model.accounts.get(index)
    expect(world.account(address(index)) === undefined).toBe(expected === undefined)
    expect(world.balance(address(index))).toBe(expected?.balance ?? 0n)
    expect(world.nonce(address(index))).toBe(expected?.nonce ?? 0n)
    expect(toHex(world.code(address(index)))).toBe(expected?.code ?? '0x')
    for (let number = 0; number <= 6; number++) {
      const value = expected?.slots.get(number) ?? 0n
      expect(toHex(world.storage(address(index), slot(number)))).toBe(toHex(bigIntToMinimalBytes(value)))
    }
  }
}

describe('WorldState', () => {
  it('agrees with a simple model and EthereumJS’s roots over blocks, checkpoints and reverts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 60 }),
        fc.boolean(),
        fc.boolean(),
        async (steps, dropsNodes, isFlat) => {
          const store = new MemoryStore()
          // Without cache memory for nodes, everything is read from the store.
          const options = dropsNodes ? { maxNodeBytes: 0, maxCodeBytes: 0 } : {}
          const source = new StateDatabase({ store }, options).at(isFlat ? store.flat : store.byPlace)
          const model = new Model()
          let world = new WorldState(source, EMPTY_TRIE_ROOT)
          for (const step of [...steps, { kind: 'block' as const }]) {
            apply(world, model, step)
            if (step.kind !== 'block') continue
            while (model.depth > 0) apply(world, model, { kind: 'commit' })
            world.endTransaction()
            const changes = world.commit()
            store.write(changes)
            // The writes give exactly the state.
            expect(new Set(store.places.keys())).toEqual(keysOfState(source, changes.root))
            expect(changes.root).toBe(await referenceRoot(model.accounts))
            world = new WorldState(source, changes.root)
            expectSame(world, model)
          }
        },
      ),
      { numRuns: propertyRuns(120) },
    )
  })

  it('reverts to the values at each checkpoint after repeated writes to a few slots', () => {
    const few = fc.integer({ min: 0, max: 1 })
    const value = fc.bigInt({ min: 0n, max: 3n })
    const step: fc.Arbitrary<Action> = fc.oneof(
      fc.record({ kind: fc.constant('slot' as const), account: few, slot: few, value }),
      fc.record({
        kind: fc.constantFrom('checkpoint' as const, 'checkpoint' as const, 'commit' as const, 'revert' as const),
      }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const world = new WorldState(new StateDatabase({ store: NO_STATE }).at(NO_STATE), EMPTY_TRIE_ROOT)
        const model = new Model()
        for (const account of [0, 1]) apply(world, model, { kind: 'balance', account, amount: 1n })
        while (model.depth > 0 || steps.length > 0) {
          const next = steps.shift() ?? { kind: 'revert' as const }
          apply(world, model, next)
          if (next.kind === 'revert') expectSame(world, model)
        }
      }),
      { numRuns: propertyRuns(500) },
    )
  })

  it('distinguishes the value at the start of the transaction from the current one', () => {
    const world = new WorldState(new StateDatabase({ store: NO_STATE }).at(NO_STATE), EMPTY_TRIE_ROOT)
    world.addBalance(address(0), 1n)
    world.putStorage(address(0), slot(1), Uint8Array.of(1))
    world.endTransaction()
    world.putStorage(address(0), slot(1), Uint8Array.of(2))
    world.checkpoint()
    world.putStorage(address(0), slot(1), Uint8Array.of(3))
    expect(world.originalStorage(address(0), slot(1))).toEqual(Uint8Array.of(1))
    world.revertCheckpoint()
    expect(world.storage(address(0), slot(1))).toEqual(Uint8Array.of(2))
    world.endTransaction()
    expect(world.originalStorage(address(0), slot(1))).toEqual(Uint8Array.of(2))
  })

  it('keeps every earlier state readable', () => {
    const store = new MemoryStore()
    const source = new StateDatabase({ store }).at(store.byHash)
    const roots: Hex[] = []
    let root: Hex = EMPTY_TRIE_ROOT
    for (let i = 1; i <= 20; i++) {
      const world = new WorldState(source, root)
      world.addBalance(address(0), 1n)
      world.putStorage(address(0), slot(0), Uint8Array.of(i))
      const changes = world.commit()
      store.write(changes)
      root = changes.root
      roots.push(root)
    }
    for (const [index, earlier] of roots.entries()) {
      const world = new WorldState(new StateDatabase({ store }).at(store.byHash), earlier)
      expect(world.balance(address(0))).toBe(BigInt(index + 1))
      expect(world.storage(address(0), slot(0))).toEqual(Uint8Array.of(index + 1))
    }
  })

  it('names a missing trie node', () => {
    const open = (view: StateView) =>
      new WorldState(new StateDatabase({ store: NO_STATE }).at(view), `0x${'ab'.repeat(32)}`)
    expect(() => open(NO_STATE)).toThrow(MissingNodeError)
    expect(() => open(NO_STATE)).toThrow('0xabab')
    // Another state has another node at that path.
    const other = { ...NO_STATE, node: () => fromHex('0xc0') }
    expect(() => open(other)).toThrow(MissingNodeError)
    expect(() => open({ ...other, isPruned: () => true })).toThrow(errorWith('state-gone'))
  })

  it('refuses to end a transaction with open checkpoints', () => {
    const world = new WorldState(new StateDatabase({ store: NO_STATE }).at(NO_STATE), EMPTY_TRIE_ROOT)
    world.checkpoint()
    expect(() => world.endTransaction()).toThrow('open checkpoints')
  })
})

describe('the memory limit', () => {
  it.each([
    // A trie of five nodes, 700 bytes.
    { id: 'everything below the limit', maxNodeBytes: 20_000, isKept: true },
    { id: 'nothing if one node exceeds the limit', maxNodeBytes: 2_000, isKept: false },
  ])('of trie nodes is $id', ({ maxNodeBytes, isKept }) => {
    const store = new MemoryStore()
    const world = new WorldState(new StateDatabase({ store }).at(store.byPlace), EMPTY_TRIE_ROOT)
    for (let index = 0; index < 4; index++) world.addBalance(address(index), 1n)
    const changes = world.commit()
    store.write(changes)
    const states = new StateDatabase({ store }, { maxNodeBytes })
    const readAll = () => {
      for (let index = 0; index < 4; index++)
        new WorldState(states.at(store.byPlace), changes.root).balance(address(index))
      return states.statistics().nodeReads
    }
    const first = readAll()
    expect(readAll() === first).toBe(isKept)
  })

  it('of code counts bytes in memory, not bytes on disk', () => {
    const read: string[] = []
    const store = {
      node: () => undefined,
      code(hash: Uint8Array) {
        read.push(toHex(hash))
        return new Uint8Array(1000)
      },
    }
    // Memory for three programs of 1,000 bytes with their jump destinations and pushed words.
    const states = new StateDatabase({ store }, { maxCodeBytes: 45_000 })
    const hashes = [1, 2, 3, 4].map((index): Hex => `0x${index.toString(16).padStart(64, '0')}`)
    for (const hash of [...hashes.slice(0, 3), ...hashes.slice(0, 3)]) states.code(hash)
    expect(read).toEqual(hashes.slice(0, 3))
    for (const hash of [...hashes.slice(3), ...hashes.slice(0, 1)]) states.code(hash)
    expect(read).toEqual([...hashes, hashes[0]])
  })
})
