import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../lib/clock.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { createLogger } from '../../../lib/logger.ts'
import { ZERO_HASH } from '../../../rollup/protocol/types.ts'
import { initChain, openChain } from '../../index.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { nodeKey, type StateStore } from '../../state/stateDatabase.ts'
import { extendChain } from '../../testUtils/extendChain.ts'
import { loadRecordedRpc } from '../../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES } from '../../testUtils/signTransaction.ts'
import { nodesOnDisk, readWholeState, tableOnDisk } from '../../testUtils/statesOnDisk.ts'
import type { Chain } from '../types.ts'
import type { GcMode, StateLimits } from './stateKeeper.ts'

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
const RECENT = 8
const LIMITS: Partial<StateLimits>[] = [
  { recentStates: RECENT },
  // Little is left in memory: every few blocks all states are written.
  { recentStates: RECENT, unwrittenBytes: 200_000 },
  // The oldest state alone is written, often.
  { recentStates: RECENT, unwrittenGas: 200_000 },
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

/** Closes the chain and looks at its disk: whole states from `oldest` on, and no other node. */
async function expectOnDisk(chain: Chain, oldest: number, from = datadir, gcMode: GcMode = 'full'): Promise<void> {
  const headers = await headersOf(chain)
  await chain.close()
  const nodes = await nodesOnDisk(from)
  const written = new Set([...(await tableOnDisk(from, 'd')).keys()].map((key) => `0x${key.slice(18)}`))
  const needed = new Set<Hex>()
  const store: Pick<StateStore, 'node'> = { node: (hash, owner) => nodes.get(toHex(nodeKey(hash, owner))) }
  for (const { stateRoot, hash, number } of headers.slice(oldest)) {
    // Of the others the blocks are there.
    if (gcMode === 'full' && number > oldest && !written.has(hash)) continue
    const { keys, balances } = readWholeState(store, stateRoot)
    expect(balances).toBe(TOTAL)
    for (const key of keys) needed.add(key)
  }
  expect(nodes.size).toBe(needed.size)
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
      const proof = await state?.proof(DEV_ADDRESSES[0], [ZERO_HASH])
      if (state !== undefined) expect(proof?.nonce).toBe(BigInt(number))
      if (state !== undefined) expect(stateRoot).not.toBe(headers[number - 1]?.stateRoot)
    }
    await expectOnDisk(chain, 60 - RECENT + 1)
    const again = await open(limits)
    expect(await again.stateAt(headers[52]?.hash ?? ZERO_HASH)).toBeUndefined()
    await expect(again.call({ to: DEV_ADDRESSES[0] }, { blockHash: headers[52]?.hash ?? ZERO_HASH })).rejects.toThrow(
      'the state of block 52 is not kept any more',
    )
  })

  it.each(LIMITS)('keeps the finalized state, and all that may still become so: %o', async (limits) => {
    const chain = await open(limits)
    await grow(chain, 60, 30)
    for (const { hash, number } of (await headersOf(chain)).slice(30)) {
      expect(await chain.stateAt(hash), `state of block ${number}`).toBeDefined()
    }
    await expectOnDisk(chain, 30)
  })

  it.each(LIMITS)('goes over to a branch from the finalized block on, and back: %o', async (limits) => {
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
    await setHead(second.hash)
    await grow(chain, 60, 10, 7n)
    await expectOnDisk(chain, 67)
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
    await expectOnDisk(chain, 28)
  })
})

describe('archive mode', () => {
  it('keeps all states, and is not left by mistake', async () => {
    let chain = await open({}, 'full')
    await grow(chain, 3)
    await chain.close()
    chain = await open({ recentStates: 1 }, 'archive')
    await grow(chain, 10)
    for (const { hash } of await headersOf(chain)) expect(await chain.stateAt(hash)).toBeDefined()
    await expectOnDisk(chain, 0, datadir, 'archive')
    expect((await tableOnDisk(datadir, 'd')).size).toBe(0)
    await expect(open({}, 'full')).rejects.toThrow('holds the states of all blocks: start with --gcmode archive')
  })
})

describe('a database of another format', () => {
  it('is refused with what to do', async () => {
    const level = new ClassicLevel(join(datadir, 'geth', 'chaindata'))
    await level.del('mformat')
    await level.close()
    await expect(open()).rejects.toThrow(
      /has the format of another version.*move .*geth away and run "devium-geth init/,
    )
  })
})

describe('what a crash leaves', () => {
  /** What a process that is killed leaves behind. */
  function killedCopy(name: string): string {
    const copy = join(root, name)
    cpSync(datadir, copy, { recursive: true })
    return copy
  }

  it.each(LIMITS)('gives the same head and states: %o', async (limits) => {
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
    await expectOnDisk(again, 53, copy)
  })

  it('goes back to the last whole block when the end of the log is lost, and says so', async () => {
    const chain = await open({ recentStates: RECENT, unwrittenBytes: 300_000 })
    await grow(chain, 30, 20)
    const headers = await headersOf(chain)
    const [log = ''] = readdirSync(join(datadir, 'geth', 'chaindata')).filter((name) => name.endsWith('.log'))
    const size = statSync(join(datadir, 'geth', 'chaindata', log)).size
    const heads = new Set<number>()
    for (let part = 1; part <= 24; part++) {
      const copy = killedCopy(`torn-${part}`)
      // Odd lengths, so that records break off in the middle. The first record is synced: that it is open.
      truncateSync(join(copy, 'geth', 'chaindata', log), Math.max(size - part * 1013 * (part % 3 === 0 ? 9 : 1), 100))
      const again = await open({ recentStates: RECENT }, 'full', copy)
      const { number, hash } = again.head()
      heads.add(number)
      expect(hash).toBe(headers[number]?.hash)
      expect(lines.join()).toMatch(new RegExp(`last whole block.*number=${number}\\b`))
      expect((await again.stateAt(hash))?.account(DEV_ADDRESSES[0])).toBeDefined()
      await grow(again, 2, 20)
      await again.close()
      rmSync(copy, { recursive: true })
    }
    expect(heads.size).toBeGreaterThan(5)
  })

  it('goes back below a block that is missing in the middle', async () => {
    const chain = await open()
    await grow(chain, 20)
    const headers = await headersOf(chain)
    const copy = killedCopy('holes')
    const level = new ClassicLevel<Uint8Array, Uint8Array>(join(copy, 'geth', 'chaindata'), { keyEncoding: 'view' })
    await level.del(Buffer.from(`68${headers[12]?.hash.slice(2)}`, 'hex'))
    await level.close()
    const again = await open({ recentStates: RECENT }, 'full', copy)
    expect(again.head().hash).toBe(headers[11]?.hash)
    expect(lines.join()).toContain('goes on from its last whole block')
    expect(lines.join()).toContain('lost=9')
    expect(await again.headerByNumber(12)).toBeUndefined()
    await grow(again, 20)
    expect(again.head().number).toBe(31)
  })
})
