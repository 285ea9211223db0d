import { appendFile, mkdir, mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { until } from '../../lib/testUtils/until.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { FakePoolChain } from '../testUtils/fakePoolChain.ts'
import { signLegacyTransaction, signTransaction, testAddress, testKey } from '../testUtils/signTransaction.ts'
import { PoolJournal } from './poolJournal.ts'
import { TxPool } from './txPool.ts'

let folder: string
let path: string
let chain: FakePoolChain
const opened: { stop(): Promise<void> }[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'devium-journal-'))
  path = join(folder, 'geth', 'transactions.rlp')
  chain = new FakePoolChain()
  for (let sender = 1; sender <= 3; sender++) chain.setAccount(testAddress(sender), {})
})

afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
  await rm(folder, { recursive: true, force: true })
})

async function open(
  logger = silentLogger,
): Promise<{ pool: TxPool; journal: PoolJournal; clock: ManualClock; hashes(): Hex[] }> {
  const clock = new ManualClock(1_700_000_000_000)
  const pool = new TxPool({ chain, logger: silentLogger, clock })
  pool.start()
  const journal = new PoolJournal({ pool, logger, clock }, { path, rejournalMs: 3_600_000 })
  await journal.start()
  opened.push(pool)
  const hashes = () =>
    pool.senderAddresses().flatMap((sender) => {
      const { pending, queued } = pool.content(sender)
      return [...pending, ...queued].map(({ hash }) => hash)
    })
  return { pool, journal, clock, hashes }
}

/** Executable, after a gap, and of legacy type. */
const waiting = () => [
  signTransaction(testKey(1), { nonce: 0 }),
  signTransaction(testKey(2), { nonce: 3 }),
  signLegacyTransaction(testKey(3), { nonce: 0, chainId: 901n }),
]

it('keeps waiting transactions over a restart, and drops those mined meanwhile', async () => {
  const first = await open()
  for (const transaction of waiting()) await first.pool.add(transaction)
  const hashes = first.hashes()
  expect(hashes).toHaveLength(3)
  await first.journal.stop()
  chain.setAccount(testAddress(1), { nonce: 1n })
  const second = await open()
  expect(second.hashes()).toEqual(hashes.slice(1))
})

it('drops a transaction with a condition, which the format cannot hold', async () => {
  const conditional = (sender: number) =>
    Object.assign(signTransaction(testKey(sender)), {
      condition: { knownAccounts: {}, blocks: { max: 1 }, timestamps: {} },
    })
  const first = await open()
  await first.pool.add(conditional(1))
  const plain = signTransaction(testKey(2))
  await first.pool.add(plain)
  // Transactions are appended in order.
  await until(async () => (await readFile(path)).length > 0)
  // The first journal is not stopped, as after a kill.
  const second = await open()
  expect(second.hashes()).toEqual([plain.hash])
  await second.pool.add(conditional(3))
  await second.journal.stop()
  expect((await open()).hashes()).toEqual([plain.hash])
  await first.journal.stop()
})

it('keeps transactions over a kill, except a partially written one', async () => {
  const first = await open()
  for (const transaction of waiting()) await first.pool.add(transaction)
  await expect.poll(async () => (await readFile(path)).length).toBeGreaterThan(300)
  // The first journal is not stopped, as after a kill, and writes nothing more.
  await appendFile(path, new Uint8Array([0xb8, 0x90, 0x02]))
  const second = await open()
  expect(second.hashes().toSorted()).toEqual(first.hashes().toSorted())
  await first.journal.stop()
})

it('is written anew after a failed write, which may have left a partial transaction', async () => {
  const warnings: string[] = []
  const first = await open({ ...silentLogger, warn: (text) => void warnings.push(text) })
  const [one, two, three] = waiting() as [SignedTransaction, SignedTransaction, SignedTransaction]
  await first.pool.add(one)
  const written = await until(async () => (await readFile(path)).length > 0 && readFile(path))
  // The disk is full, and later has space again.
  await rm(path)
  await mkdir(path)
  await first.pool.add(two)
  await until(() => warnings.length === 1)
  await rmdir(path)
  const partial = Buffer.concat([written, Uint8Array.of(0xb8, 0x90, 0x02)])
  await writeFile(path, partial)
  await first.pool.add(three)
  await until(async () => (await readFile(path)).length > partial.length)
  // The first journal is not stopped, as after a kill.
  const second = await open()
  expect(second.hashes().toSorted()).toEqual(first.hashes().toSorted())
  await first.journal.stop()
})

it('rewrites the journal at an interval without removed transactions', async () => {
  const { pool, journal, clock } = await open()
  const [mined, ...others] = waiting()
  if (mined === undefined) throw new RangeError('no transaction')
  for (const transaction of [mined, ...others]) await pool.add(transaction)
  await expect.poll(async () => (await readFile(path)).length).toBeGreaterThan(300)
  const before = (await readFile(path)).length
  const block = chain.block([mined])
  chain.setAccount(testAddress(1), { nonce: 1n })
  chain.move(block, [block])
  await expect.poll(() => pool.get(mined.hash)).toBeUndefined()
  await clock.advance(3_600_000)
  await expect.poll(async () => (await readFile(path)).length).toBeLessThan(before)
  await journal.stop()
})

it('the pool works while the disk is full', async () => {
  await writeFile(join(folder, 'geth'), 'no directory')
  const { pool, journal, hashes } = await open()
  for (const transaction of waiting()) await pool.add(transaction)
  expect(hashes()).toHaveLength(3)
  await journal.stop()
})
