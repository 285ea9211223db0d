import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChainDatabase } from '../src/execution/chain/storage/chainDatabase.ts'
import { StateDisk } from '../src/execution/chain/storage/stateDisk.ts'
import { LayerTree } from '../src/execution/state/layerTree.ts'
import { NO_STATE, StateDatabase } from '../src/execution/state/stateDatabase.ts'
import { WorldState } from '../src/execution/state/worldState.ts'
import type { Hex } from '../src/lib/hex.ts'
import { EMPTY_TRIE_ROOT } from '../src/rollup/protocol/constants.ts'
import { median, quantile } from './figures.ts'

const ACCOUNTS = 100_000
const CHANGED = 1_000
const BLOCKS = 40

const addressOf = (index: number): Hex => `0x${(index + 1).toString(16).padStart(40, '0')}`

/** Milliseconds of processor time for the state root of a block that changes 1,000 of 100,000 accounts: median and maximum. */
export async function stateRootMs(): Promise<{ median: number; most: number }> {
  const datadir = await mkdtemp(join(tmpdir(), 'devium-bench-'))
  const database = await ChainDatabase.open(datadir, { create: true })
  try {
    const tree = new LayerTree(new StateDisk(database), { number: 0, hash: EMPTY_TRIE_ROOT })
    const states = new StateDatabase({ store: database })
    let root: Hex = EMPTY_TRIE_ROOT
    const times: number[] = []
    for (let number = 1; number <= BLOCKS + 1; number++) {
      const world = new WorldState(states.at(tree.at(root) ?? NO_STATE), root)
      for (let index = 0; index < (number === 1 ? ACCOUNTS : CHANGED); index++) {
        world.addBalance(addressOf(number === 1 ? index : Math.floor(Math.random() * ACCOUNTS)), 1n)
      }
      const before = process.cpuUsage()
      const changes = world.commit()
      const { user, system } = process.cpuUsage(before)
      if (number > 1) times.push((user + system) / 1000)
      tree.add({ number, hash: changes.root }, root, changes.writes, 0)
      root = changes.root
      // The first block reads all accounts from the disk. Later blocks use the cache as far as it reaches.
      if (number === 1) await tree.write(root, { gas: 0, bytes: 0 })
    }
    return { median: median(times), most: quantile(times, 1) }
  } finally {
    await database.close()
    await rm(datadir, { recursive: true, force: true })
  }
}
