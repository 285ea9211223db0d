import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChainDatabase } from '../src/execution/chain/storage/chainDatabase.ts'
import { DatabaseBatch } from '../src/execution/chain/storage/databaseBatch.ts'
import { encodeVersion, StateDisk } from '../src/execution/chain/storage/stateDisk.ts'
import { LayerTree } from '../src/execution/state/layerTree.ts'
import { NO_STATE, StateDatabase } from '../src/execution/state/stateDatabase.ts'
import { bytesOfKey } from '../src/execution/state/stateKeys.ts'
import { WorldState } from '../src/execution/state/worldState.ts'
import type { Hex } from '../src/lib/hex.ts'
import { EMPTY_TRIE_ROOT } from '../src/rollup/protocol/constants.ts'
import { ZERO_HASH } from '../src/rollup/protocol/types.ts'
import { median } from './figures.ts'

const HOLDERS = 100_000
const TRANSFERS = 1_000
const ROUNDS = 9
const TOKEN: Hex = `0x${'ab'.repeat(20)}`

const addressOf = (index: number): Hex => `0x${(index + 1).toString(16).padStart(40, '0')}`
const slotOf = (index: number): Hex => `0x${(index + 1).toString(16).padStart(64, '0')}`

/** Microseconds of processor time for a token transfer's state access, without caches. */
export interface StateReads {
  /** Reads of the sender, and of both balances in the token's storage. */
  readUs: number
  /** The same, with both balances changed and hashed. */
  writeUs: number
}

/** A token with 100,000 holders on the disk, read by its tries and by the flat state. Returns medians. */
export async function compareStateReads(): Promise<{ trie: StateReads; flat: StateReads }> {
  const datadir = await mkdtemp(join(tmpdir(), 'devium-bench-'))
  try {
    const root = await writeToken(datadir)
    const samples = { trie: [] as StateReads[], flat: [] as StateReads[] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const kind of ['trie', 'flat'] as const) samples[kind].push(await measure(datadir, root, kind, round))
    }
    const summary = (list: StateReads[]): StateReads => ({
      readUs: median(list.map(({ readUs }) => readUs)),
      writeUs: median(list.map(({ writeUs }) => writeUs)),
    })
    return { trie: summary(samples.trie), flat: summary(samples.flat) }
  } finally {
    await rm(datadir, { recursive: true, force: true })
  }
}

async function writeToken(datadir: string): Promise<Hex> {
  const database = await ChainDatabase.open(datadir, { create: true })
  const world = new WorldState(new StateDatabase({ store: NO_STATE }).at(NO_STATE), EMPTY_TRIE_ROOT)
  world.setNonce(TOKEN, 1n)
  for (let index = 0; index < HOLDERS; index++) {
    world.addBalance(addressOf(index), 10n ** 18n)
    world.putStorage(TOKEN, slotOf(index), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8))
  }
  const changes = world.commit()
  const batch = new DatabaseBatch()
  for (const [key, value] of changes.writes) batch.putPlace(bytesOfKey(key), encodeVersion({ value, number: 0 }))
  await database.write(batch, { sync: true })
  await database.close()
  return changes.root
}

async function measure(datadir: string, root: Hex, kind: 'trie' | 'flat', round: number): Promise<StateReads> {
  const database = await ChainDatabase.open(datadir, { create: false })
  try {
    const states = new StateDatabase({ store: database })
    const view = new LayerTree(new StateDisk(database), { number: 0, hash: ZERO_HASH }).at(ZERO_HASH) ?? NO_STATE
    const places = Array.from({ length: TRANSFERS }, (_, index) => [
      (index * 7919 + round * 104_729) % HOLDERS,
      (index * 6367 + round * 15_485_863) % HOLDERS,
    ])
    const world = new WorldState(states.at(view, kind === 'flat'), root)
    const startedAt = processorUs()
    for (const [from = 0, to = 0] of places) {
      world.account(addressOf(from))
      world.storage(TOKEN, slotOf(from))
      world.storage(TOKEN, slotOf(to))
    }
    const readAt = processorUs()
    for (const [from = 0, to = 0] of places) {
      world.setNonce(addressOf(from), 5n)
      world.putStorage(TOKEN, slotOf(from), Uint8Array.of(round + 1, from & 0xff, 1))
      world.putStorage(TOKEN, slotOf(to), Uint8Array.of(round + 1, to & 0xff, 2))
    }
    world.commit()
    return { readUs: (readAt - startedAt) / TRANSFERS, writeUs: (processorUs() - startedAt) / TRANSFERS }
  } finally {
    await database.close()
  }
}

function processorUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
