import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChainDatabase } from '../src/execution/chain/storage/chainDatabase.ts'
import { DatabaseBatch } from '../src/execution/chain/storage/databaseBatch.ts'
import { encodeVersion, StateDisk } from '../src/execution/chain/storage/stateDisk.ts'
import { LayerTree } from '../src/execution/state/layerTree.ts'
import { NO_STATE, StateDatabase, type StateView } from '../src/execution/state/stateDatabase.ts'
import { bytesOfKey } from '../src/execution/state/stateKeys.ts'
import { WorldState } from '../src/execution/state/worldState.ts'
import type { Hex } from '../src/lib/hex.ts'
import { EMPTY_TRIE_ROOT } from '../src/rollup/protocol/constants.ts'
import { ZERO_HASH } from '../src/rollup/protocol/types.ts'

// A state on the disk that is not in the program's memory, but may be in the page cache. It has contracts with different code of
// maximum size, and one contract with as many slots.

/** The number that 30 Mgas read, at 2,600 gas each. */
const CONTRACTS = 11_600
/** At 2,100 gas each. */
const SLOTS = 14_400
const CODE_BYTES = 24_576
const PER_COMMIT = 400

export interface StoredState {
  /** The head's state, without caches. */
  open(): Promise<{ world: WorldState; close(): Promise<void> }>
  remove(): Promise<void>
}

/** Writes contracts from number `first` on, and slots with the same numbers of `owner`. */
export async function writeState(first: number, owner: Hex): Promise<StoredState> {
  const datadir = await mkdtemp(join(tmpdir(), 'devium-bench-'))
  const database = await ChainDatabase.open(datadir, { create: true })
  let root: Hex = EMPTY_TRIE_ROOT
  for (let from = 0; from < CONTRACTS; from += PER_COMMIT) {
    const world = new WorldState(new StateDatabase({ store: database }).at(viewOf(database)), root)
    for (let index = from; index < Math.min(from + PER_COMMIT, CONTRACTS); index++) {
      const address: Hex = `0x${(first + index).toString(16).padStart(40, '0')}`
      world.addBalance(address, 1n)
      world.putCode(address, codeOf(index))
    }
    if (from === 0) {
      world.setNonce(owner, 1n)
      for (let slot = 0; slot < SLOTS; slot++) {
        world.putStorage(owner, `0x${(first + slot).toString(16).padStart(64, '0')}`, Uint8Array.of(1, 2, 3))
      }
    }
    const changes = world.commit()
    const batch = new DatabaseBatch()
    for (const { hash, code } of changes.codes) batch.put('code', hash, code)
    for (const [key, value] of changes.writes) batch.putPlace(bytesOfKey(key), encodeVersion({ value, number: 0 }))
    await database.write(batch, { sync: false })
    root = changes.root
  }
  await database.close()
  return {
    async open() {
      const opened = await ChainDatabase.open(datadir, { create: false })
      const source = new StateDatabase({ store: opened }).at(viewOf(opened))
      return { world: new WorldState(source, root), close: () => opened.close() }
    },
    remove: () => rm(datadir, { recursive: true, force: true }),
  }
}

/** The state on the disk. */
function viewOf(database: ChainDatabase): StateView {
  return new LayerTree(new StateDisk(database), { number: 0, hash: ZERO_HASH }).at(ZERO_HASH) ?? NO_STATE
}

/** Code that jumps over unique incompressible bytes to its end, where it pushes a word. */
function codeOf(index: number): Uint8Array {
  const code = new Uint8Array(CODE_BYTES)
  code.set([0x61, 0x5f, 0xc0, 0x56])
  const seed = createHash('shake256', { outputLength: 0x5f00 }).update(String(index)).digest()
  code.set(seed, 4)
  code.fill(0x5b, 0x5f04)
  code.set([0x63, 1, 2, 3, 4, 0x00], 0x5ff0)
  return code
}
