import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChainDatabase } from '../src/execution/chain/storage/chainDatabase.ts'
import { DEFAULT_STATE_LIMITS, StateKeeper } from '../src/execution/chain/storage/stateKeeper.ts'
import { StateDatabase } from '../src/execution/state/stateDatabase.ts'
import { EMPTY_TRIE_ROOT } from '../src/execution/state/trie.ts'
import { WorldState } from '../src/execution/state/worldState.ts'
import { systemClock } from '../src/lib/clock.ts'
import type { Hex } from '../src/lib/hex.ts'
import { silentLogger } from '../src/lib/logger.ts'

const ACCOUNTS = 100_000
const CHANGED = 1_000
const BLOCKS = 40

const addressOf = (index: number): Hex => `0x${(index + 1).toString(16).padStart(40, '0')}`

/** Milliseconds of processor time for the state root of a block that changes 1,000 of 100,000 accounts: median, most. */
export async function stateRootMs(): Promise<{ median: number; most: number }> {
  const datadir = await mkdtemp(join(tmpdir(), 'devium-bench-'))
  const database = await ChainDatabase.open(datadir, { create: true })
  try {
    const keeper = await StateKeeper.open({ database, logger: silentLogger, clock: systemClock }, 'full', {
      ...DEFAULT_STATE_LIMITS,
      recentStates: 1,
    })
    const states = new StateDatabase({ store: keeper.reads() })
    let root: Hex = EMPTY_TRIE_ROOT
    const times: number[] = []
    for (let number = 1; number <= BLOCKS + 1; number++) {
      const world = new WorldState(states, root)
      for (let index = 0; index < (number === 1 ? ACCOUNTS : CHANGED); index++) {
        world.addBalance(addressOf(number === 1 ? index : Math.floor(Math.random() * ACCOUNTS)), 1n)
      }
      const before = process.cpuUsage()
      const changes = world.commit()
      const { user, system } = process.cpuUsage(before)
      if (number > 1) times.push((user + system) / 1000)
      keeper.add({ number, hash: changes.root, parentHash: root, gasUsed: 0n }, changes)
      root = changes.root
      // All of them are read from the disk once, then from memory as far as it reaches.
      if (number === 1) await keeper.write()
    }
    times.sort((a, b) => a - b)
    return { median: times[times.length >> 1] ?? 0, most: times.at(-1) ?? 0 }
  } finally {
    await database.close()
    await rm(datadir, { recursive: true, force: true })
  }
}
