import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../lib/clock.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { createLogger } from '../../../lib/logger.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { L1_BLOCK_ADDRESS } from '../../../rollup/protocol/index.ts'
import { ZERO_HASH } from '../../../rollup/protocol/types.ts'
import { initChain, openChain } from '../../index.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { isNodeKey } from '../../state/stateKeys.ts'
import { extendChain } from '../../testUtils/extendChain.ts'
import { loadRecordedRpc } from '../../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES } from '../../testUtils/signTransaction.ts'
import { baseOnDisk, readWholeState, tableOnDisk } from '../../testUtils/statesOnDisk.ts'
import type { Chain } from '../opChain.ts'
import type { GcMode, StateLimits } from './statePruner.ts'

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
const RECENT = 8
const LIMITS: Partial<StateLimits>[] = [
  { recentStates: RECENT },
  // Little stays in memory: the base is written every few blocks, above states that are still kept.
  { recentStates: RECENT, unwrittenBytes: 100_000 },
  { recentStates: RECENT, unwrittenGas: 400_000 },
  // The state of each block is written with it. Earlier states are read from the history.
  { recentStates: RECENT, unwrittenGas: 1 },
]

let root: string
let datadir: string
let lines: string[] = []
const opened: Chain[] = []

async function open(limits: Partial<StateLimits> = { recentStates: RECENT }, gcMode: GcMode = 'full', from = datadir) {
  lines = []
  const logger = createLogger({ level: 'warn', format: 'logfmt', color: false, write: (line) => lines.push(line) })
  const chain = await openChain(from, { logger, clock: systemClock }, { limits, gcMode })
  opened.push(chain)
  return chain
}

async function grow(chain: Chain, length: number, finalizedBelow?: number, salt = 0n): Promise<void> {
  for (let index = 0; index < length; index++) {
    const head = await extendChain(chain, rollup, chain.head().hash, { salt })
    const number = chain.head().number + 1 - (finalizedBelow ?? 0)
    const finalized = finalizedBelow === undefined ? undefined : await chain.headerByNumber(Math.max(number, 0))
    await chain.setForkchoice({
      headBlockHash: head,
      safeBlockHash: ZERO_HASH,
      finalizedBlockHash: finalized?.hash ?? ZERO_HASH,
    })
  }
}

async function headersOf(chain: Chain): Promise<BlockHeader[]> {
  const headers: BlockHeader[] = []
  for (let number = 0; number <= chain.head().number; number++) {
    const header = await chain.headerByNumber(number)
    if (header !== undefined) headers.push(header)
  }
  return headers
}

const TOTAL = Object.values(genesis.alloc as Record<string, { balance?: string }>).reduce(
  (sum, { balance }) => sum + BigInt(balance ?? 0),
  0n,
)

const RECIPIENTS = Array.from({ length: 80 }, (_, index): Hex => `0x${(index + 1).toString(16).padStart(40, '0')}`)
const ADDRESSES = [...Object.keys(genesis.alloc as object).slice(0, 50), ...DEV_ADDRESSES, ...RECIPIENTS].map(
  (address): Hex => `0x${address.replace('0x', '').toLowerCase()}`,
)
const SLOTS = Array.from({ length: 9 }, (_, index): Hex => `0x${index.toString(16).padStart(64, '0')}`)

/** Flat reads give the values that the trie proves. */
async function expectRight(chain: Chain, { hash }: Pick<BlockHeader, 'hash'> = chain.head()): Promise<void> {
  const state = (await chain.stateAt(hash)) ?? expect.unreachable('no state')
  for (const address of ADDRESSES) {
    const { nonce, balance } = await state.proof(address, [])
    const { nonce: flatNonce = 0n, balance: flatBalance = 0n } = (await state.account(address)) ?? {}
    expect({ address, nonce: flatNonce, balance: flatBalance }).toEqual({ address, nonce, balance })
  }
  const { storageProof } = await state.proof(L1_BLOCK_ADDRESS, SLOTS)
  const values = await Promise.all(SLOTS.map((slot) => state.storage(L1_BLOCK_ADDRESS, slot)))
  expect(values.map(BigInt)).toEqual(storageProof.map(({ value }) => value))
}

/**
 * Closes the chain and checks its disk: the base is a complete state, its leaves are those of its tries, and nothing
 * else is stored.
 */
async function expectOnDisk(chain: Chain, from = datadir): Promise<BlockHeader> {
  const headers = await headersOf(chain)
  await chain.close()
  const hash = (await tableOnDisk(from, 'm')).get(toHex(Buffer.from('state')))
  const base = headers.find((header) => header.hash === (hash && toHex(hash))) ?? expect.unreachable('no base')
  const entries = await baseOnDisk(from)
  const kept = [...(await tableOnDisk(from, 'U')).keys()].map(Number)
  const values = new Map([...entries].filter(([, value]) => value !== null))
  // Deletion marks exist only while the deleted value is kept.
  if (kept.length === 0) expect(values.size).toBe(entries.size)
  const { keys, leaves, balances } = readWholeState({ node: (key) => values.get(key) ?? undefined }, base.stateRoot)
  expect(balances).toBe(TOTAL)
  expect(new Set([...values.keys()].filter(isNodeKey))).toEqual(keys)
  expect(new Map([...values].filter(([key]) => !isNodeKey(key)))).toEqual(leaves)
  // The history covers the blocks up to the base, without a gap.
  expect(kept).toEqual(kept.map((_, index) => base.number - kept.length + 1 + index))
  return base
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'devium-states-'))
  datadir = join(root, 'data')
  await initChain(datadir, genesis)
})

afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.close()
  rmSync(root, { recursive: true, force: true })
})

describe('full mode', () => {
  it.each(LIMITS)('keeps the latest states and deletes the others: %o', async (limits) => {
    const chain = await open(limits)
    await grow(chain, 60)
    const headers = await headersOf(chain)
    for (const { hash, number, stateRoot } of headers) {
      const state = await chain.stateAt(hash)
      if (number > 60 - RECENT) expect(state, `state of block ${number}`).toBeDefined()
      if (number > 60 - RECENT && number % 3 === 0) await expectRight(chain, { hash })
      const proof = await state?.proof(DEV_ADDRESSES[0], [ZERO_HASH])
      if (state !== undefined) expect(proof?.nonce).toBe(BigInt(number))
      if (state !== undefined) expect(stateRoot).not.toBe(headers[number - 1]?.stateRoot)
    }
    const base = await expectOnDisk(chain)
    expect(base.number).toBeGreaterThanOrEqual(60 - RECENT + 1)
    const again = await open(limits)
    expect(await again.stateAt(headers[52]?.hash ?? ZERO_HASH)).toBeUndefined()
    await expect(again.call({ to: DEV_ADDRESSES[0] }, { blockHash: headers[52]?.hash ?? ZERO_HASH })).rejects.toThrow(
      errorWith('state-gone', 52),
    )
  })

  it.each(LIMITS)('keeps the finalized state and all later states: %o', async (limits) => {
    const chain = await open(limits)
    await grow(chain, 60, 30)
    for (const { hash, number } of (await headersOf(chain)).slice(30)) {
      expect(await chain.stateAt(hash), `state of block ${number}`).toBeDefined()
      if (number % 7 === 0) await expectRight(chain, { hash })
    }
    await expectOnDisk(chain)
    // They exist again after a restart.
    const again = await open(limits)
    for (const { hash, number } of (await headersOf(again)).slice(30)) {
      expect(await again.stateAt(hash), `state of block ${number}`).toBeDefined()
      if (number % 9 === 0) await expectRight(again, { hash })
    }
  })

  it.each(LIMITS)('reorgs to a branch from the finalized block and back: %o', async (limits) => {
    const chain = await open(limits)
    await grow(chain, 20, 20)
    const fork = await chain.headerByNumber(5)
    const first = chain.head()
    if (fork === undefined) throw new Error('block 5 is missing')
    const setHead = (headBlockHash: Hex) =>
      chain.setForkchoice({ headBlockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH })
    await setHead(fork.hash)
    await grow(chain, 12, undefined, 7n)
    const second = chain.head()
    await setHead(first.hash)
    await expectRight(chain)
    await setHead(second.hash)
    await expectRight(chain)
    await grow(chain, 60, 10, 7n)
    await expectRight(chain)
    await expectOnDisk(chain)
  })

  it('has the same states after a restart', async () => {
    let chain = await open()
    await grow(chain, 20, 12)
    await chain.close()
    chain = await open()
    for (const { hash, number } of await headersOf(chain)) {
      expect((await chain.stateAt(hash)) === undefined, `state of block ${number}`).toBe(number < 8)
    }
    await grow(chain, 20, 12)
    expect(lines).toEqual([])
    await expectOnDisk(chain)
  })
})

describe('archive mode', () => {
  /** The source of all states, once `close` has closed the chain. */
  async function nodesByHash(close: () => Promise<void>) {
    await close()
    const nodes = await tableOnDisk(datadir, 'n')
    return { node: (_: string, hash: Uint8Array) => nodes.get(toHex(hash)) }
  }

  it('writes the states of a database that was opened in full mode before', async () => {
    let chain = await open({ recentStates: RECENT, unwrittenGas: 1 })
    await grow(chain, 20, 12)
    await chain.close()
    expect((await tableOnDisk(datadir, 'U')).size).toBeGreaterThan(8)
    chain = await open({ recentStates: 1 }, 'archive')
    const fork = (await chain.headerByNumber(10)) ?? expect.unreachable()
    await chain.setForkchoice({ headBlockHash: fork.hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH })
    await grow(chain, 15, 0, 5n)
    const headers = await headersOf(chain)
    const nodes = await nodesByHash(async () => chain.close())
    for (const { stateRoot } of headers.slice(9)) expect(readWholeState(nodes, stateRoot).balances).toBe(TOTAL)
  })

  it('keeps all states, and refuses to open in full mode', async () => {
    let chain = await open({}, 'full')
    await grow(chain, 3)
    await chain.close()
    const taken = chain.head()
    for (const limits of [{ recentStates: 1 }, { recentStates: 1, unwrittenGas: 1 }]) {
      chain = await open(limits, 'archive')
      await grow(chain, 10)
      const headers = await headersOf(chain)
      const nodes = await nodesByHash(async () => chain.close())
      chain = await open(limits, 'archive')
      for (const { number, hash, stateRoot } of headers) {
        // Earlier states were pruned by then.
        if (number < taken.number && (await chain.stateAt(hash)) === undefined) continue
        await expectRight(chain, { hash })
        expect(readWholeState(nodes, stateRoot).balances).toBe(TOTAL)
      }
      await expectOnDisk(chain)
    }
    await expect(open({}, 'full')).rejects.toThrow(errorWith('usage', '--gcmode archive'))
  })
})

describe('a database of another format', () => {
  it('is refused with the command to recreate it', async () => {
    const level = new ClassicLevel(join(datadir, 'geth', 'chaindata'))
    await level.del('mformat')
    await level.close()
    await expect(open()).rejects.toThrow(errorWith('usage', join(datadir, 'geth'), 'devium-geth init'))
  })
})

describe('a database after a crash', () => {
  /** The state that a killed process leaves. */
  function killedCopy(name: string): string {
    const copy = join(root, name)
    cpSync(datadir, copy, { recursive: true })
    return copy
  }

  it.each(LIMITS)('has the same head and states: %o', async (limits) => {
    const chain = await open(limits)
    await grow(chain, 33, 20)
    const head = chain.head()
    const copy = killedCopy('killed')
    const again = await open(limits, 'full', copy)
    expect(again.head()).toEqual(head)
    expect(lines.join()).toContain('The database was not closed')
    for (const { hash, number } of (await headersOf(chain)).slice(13)) {
      expect(await again.stateAt(hash), `state of block ${number}`).toBeDefined()
    }
    await grow(again, 40, 20)
    await expectRight(again)
    await expectOnDisk(again, copy)
  })

  it('returns to the last complete block when the end of the log is lost, and logs it', async () => {
    const chain = await open({ recentStates: RECENT, unwrittenBytes: 300_000 })
    await grow(chain, 30, 20)
    const headers = await headersOf(chain)
    const [log = ''] = readdirSync(join(datadir, 'geth', 'chaindata')).filter((name) => name.endsWith('.log'))
    const size = statSync(join(datadir, 'geth', 'chaindata', log)).size
    const heads = new Set<number>()
    for (let part = 1; part <= 24; part++) {
      const copy = killedCopy(`torn-${part}`)
      // Odd lengths, so that records break off in the middle. The first record, that the database is open, is synced.
      truncateSync(join(copy, 'geth', 'chaindata', log), Math.max(size - part * 1013 * (part % 3 === 0 ? 9 : 1), 100))
      const again = await open({ recentStates: RECENT }, 'full', copy)
      const { number, hash } = again.head()
      heads.add(number)
      expect(hash).toBe(headers[number]?.hash)
      expect(lines.join()).toMatch(new RegExp(`last complete block.*number=${number}\\b`))
      expect((await again.stateAt(hash))?.account(DEV_ADDRESSES[0])).toBeDefined()
      await grow(again, 2, 20)
      await again.close()
      rmSync(copy, { recursive: true })
    }
    expect(heads.size).toBeGreaterThan(5)
  })

  it('returns to the block below a missing block', async () => {
    const chain = await open()
    await grow(chain, 20)
    const headers = await headersOf(chain)
    const copy = killedCopy('holes')
    const level = new ClassicLevel<Uint8Array, Uint8Array>(join(copy, 'geth', 'chaindata'), { keyEncoding: 'view' })
    await level.del(Buffer.from(`68${headers[12]?.hash.slice(2)}`, 'hex'))
    await level.close()
    const again = await open({ recentStates: RECENT }, 'full', copy)
    expect(again.head().hash).toBe(headers[11]?.hash)
    expect(lines.join()).toContain('continues from its last complete block')
    expect(lines.join()).toContain('lost=9')
    expect(await again.headerByNumber(12)).toBeUndefined()
    await grow(again, 20)
    expect(again.head().number).toBe(31)
  })
})
