import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { ChainDatabase } from '../chain/storage/chainDatabase.ts'
import { DatabaseBatch } from '../chain/storage/databaseBatch.ts'
import { initChain, openChain } from '../index.ts'
import { loadRecordedRpc, RECORDINGS } from '../testUtils/recordedRpc.ts'
import { readGenesis } from './genesis.ts'

type Json = ReturnType<typeof JSON.parse>

const recorded = loadRecordedRpc('holocene-span-brotli-calldata').genesis
const changed = (change: (genesis: Json) => void): Json => {
  const genesis = structuredClone(recorded)
  change(genesis)
  return genesis
}

describe('readGenesis', () => {
  it.each(RECORDINGS)("returns op-geth's genesis block: %s", (name) => {
    const { genesis, blocks } = loadRecordedRpc(name)
    expect(readGenesis(genesis).header).toMatchObject({ hash: blocks[0]?.hash, stateRoot: blocks[0]?.stateRoot })
  })

  it('accepts addresses without 0x and short storage words, as geth does', () => {
    const address = '4200000000000000000000000000000000000099'
    const long = changed((genesis) => {
      genesis.alloc[`0x${address}`] = { balance: '0x0', storage: { [`0x${'0'.repeat(63)}1`]: `0x${'0'.repeat(63)}2` } }
    })
    const short = changed((genesis) => {
      genesis.alloc[address] = { balance: '0x0', storage: { '0x1': '0x2' } }
    })
    expect(readGenesis(short).header.hash).toBe(readGenesis(long).header.hash)
    expect(readGenesis(short).header.hash).not.toBe(readGenesis(recorded).header.hash)
  })

  it.each<[string, (genesis: Json) => void, string[]]>([
    ['no config', (genesis) => delete genesis.config, ['config']],
    ['a chain that is not an OP Stack chain', (genesis) => delete genesis.config.optimism, ['config.optimism']],
    ['a Bedrock block after genesis', (genesis) => (genesis.config.bedrockBlock = 5), ['config.bedrockBlock']],
    ['no alloc', (genesis) => delete genesis.alloc, ['alloc']],
    ['a short address', (genesis) => (genesis.alloc['0x1234'] = {}), ['alloc.0x1234']],
    ['a bad balance', (genesis) => (genesis.alloc[`0x${'11'.repeat(20)}`] = { balance: 'much' }), ['balance']],
    [
      'a bad storage word',
      (genesis) => (genesis.alloc[`0x${'11'.repeat(20)}`] = { balance: '0x0', storage: { '0x1': 'x' } }),
      ['storage.0x1'],
    ],
    [
      'Shanghai without Canyon',
      (genesis) => delete genesis.config.canyonTime,
      ['config.shanghaiTime', 'config.canyonTime'],
    ],
    [
      'Osaka at another time than Karst',
      (genesis) => (genesis.config.osakaTime = 0),
      ['config.osakaTime', 'config.karstTime'],
    ],
    [
      'no Canyon denominator',
      (genesis) => delete genesis.config.optimism.eip1559DenominatorCanyon,
      ['config.optimism.eip1559DenominatorCanyon'],
    ],
    ['extra data of another fork', (genesis) => (genesis.extraData = '0x1234'), ['genesis.json', 'extraData']],
    ['a block number', (genesis) => (genesis.number = '0x5'), ['number']],
  ])('refuses %s in one line', (_, change, named) => {
    const genesis = changed(change)
    expect(() => readGenesis(genesis)).toThrow(errorWith('usage', ...named))
  })
})

describe('fork times', () => {
  it('Karst is read from karstTime, with or without osakaTime', () => {
    for (const names of [['karstTime'], ['karstTime', 'osakaTime']]) {
      const genesis = changed((genesis) => {
        for (const name of names) genesis.config[name] = 4_000_000_000
      })
      expect(readGenesis(genesis).config.forks.karst).toBe(4_000_000_000)
    }
  })

  it.each([
    [{ lagoonTime: 5_000_000_000 }, 5_000_000_000],
    [{ interopTime: 5_000_000_000 }, 5_000_000_000],
    [{ lagoonTime: 5_000_000_000, interopTime: 6_000_000_000 }, 5_000_000_000],
  ])('Lagoon is read from %j', (times, expected) => {
    const genesis = changed((genesis) => Object.assign(genesis.config, times))
    expect(readGenesis(genesis).config.forks.lagoon).toBe(expected)
  })
})

describe('a data directory', () => {
  let datadir: string
  const open = () => openChain(datadir, { logger: silentLogger, clock: systemClock })

  beforeEach(() => {
    datadir = mkdtempSync(join(tmpdir(), 'devium-genesis-'))
  })
  afterEach(() => rmSync(datadir, { recursive: true, force: true }))

  it('accepts the same genesis again, and updates its later fork times', async () => {
    const { hash, created } = await initChain(datadir, recorded)
    expect(created).toBe(true)
    const later = changed((genesis) => {
      genesis.config.isthmusTime = genesis.config.pragueTime = 4_000_000_000
    })
    expect(await initChain(datadir, later)).toEqual({ hash, created: false })
    const chain = await open()
    expect(chain.config.forks.isthmus).toBe(4_000_000_000)
    await chain.close()
  })

  it('reports progress for each account read and each account hashed', async () => {
    const rounds: { what: string; last: unknown[]; ended: boolean }[] = []
    const startProgress = ({ what }: { what: string }) => {
      const round = { what, last: [] as unknown[], ended: false }
      rounds.push(round)
      return {
        advance(...measure: unknown[]) {
          round.last = measure
        },
        end() {
          round.ended = true
        },
      }
    }
    await initChain(datadir, recorded, { startProgress })
    const total = Object.keys(recorded.alloc ?? {}).length
    expect(rounds).toEqual([
      { what: 'Reading the genesis state', last: [total, { total }], ended: false },
      { what: 'Hashing the genesis state', last: [total, { total }], ended: true },
      { what: 'Writing the genesis state', last: [], ended: true },
    ])
  })

  it('refuses another genesis, and keeps the old one', async () => {
    const { hash } = await initChain(datadir, recorded)
    const other = changed((genesis) => {
      genesis.timestamp = '0x1'
    })
    await expect(initChain(datadir, other)).rejects.toThrow(errorWith('usage', hash, readGenesis(other).header.hash))
    const chain = await open()
    expect(chain.genesis.hash).toBe(hash)
    await chain.close()
  })

  it('is refused in one line if it has no chain or is in use', async () => {
    const noChain = errorWith('usage', datadir, 'devium-geth init')
    await expect(open()).rejects.toThrow(noChain)
    // As an interrupted init leaves it.
    await (await ChainDatabase.open(datadir, { create: true })).close()
    await expect(open()).rejects.toThrow(noChain)
    await initChain(datadir, recorded)
    const chain = await open()
    await expect(open()).rejects.toThrow(errorWith('usage', datadir, 'another process'))
    await expect(initChain(datadir, recorded)).rejects.toThrow(errorWith('usage', datadir, 'another process'))
    await chain.close()
    await (await open()).close()
  })

  it('without the header of its head is refused with the command to recreate it', async () => {
    await initChain(datadir, recorded)
    const database = await ChainDatabase.open(datadir, { create: false })
    const batch = new DatabaseBatch()
    batch.setLabel('head', `0x${'99'.repeat(32)}`)
    await database.write(batch, { sync: true })
    await database.close()
    await expect(open()).rejects.toThrow(errorWith('usage', join(datadir, 'geth'), 'devium-geth init --datadir'))
  })

  it('that LevelDB cannot read is refused with the command to recreate it', async () => {
    const hint = errorWith('usage', join(datadir, 'geth'), 'devium-geth init --datadir')
    await initChain(datadir, recorded)
    // The second start writes the log's content into tables.
    await (await open()).close()
    const directory = join(datadir, 'geth', 'chaindata')
    const tables = readdirSync(directory).filter((name) => name.endsWith('.ldb'))
    expect(tables).not.toHaveLength(0)
    for (const name of tables) truncateSync(join(directory, name), 100)
    await expect(open()).rejects.toThrow(hint)
    writeFileSync(join(directory, 'CURRENT'), 'garbage')
    await expect(open()).rejects.toThrow(hint)
  })
})
