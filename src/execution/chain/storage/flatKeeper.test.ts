import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { createLogger } from '../../../lib/logger.ts'
import { L1_BLOCK_ADDRESS } from '../../../rollup/protocol/index.ts'
import { ZERO_HASH } from '../../../rollup/protocol/types.ts'
import { initChain, openChain } from '../../index.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { nodeKey } from '../../state/stateDatabase.ts'
import { stateDifference } from '../../state/stateDifference.ts'
import { EMPTY_TRIE_ROOT } from '../../state/trie.ts'
import { extendChain } from '../../testUtils/extendChain.ts'
import { loadRecordedRpc } from '../../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES } from '../../testUtils/signTransaction.ts'
import { nodesOnDisk, tableOnDisk } from '../../testUtils/statesOnDisk.ts'
import type { OpenChainOptions } from '../opChain.ts'
import type { Chain } from '../types.ts'
import { placeOf } from './flatKeeper.ts'

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
const RECENT = 8
const FULL: OpenChainOptions = { gcMode: 'full', limits: { recentStates: RECENT } }
const ARCHIVE: OpenChainOptions = { gcMode: 'archive', limits: { recentStates: RECENT } }
/** Whatever is written is written with each block. */
const EAGER: OpenChainOptions = { gcMode: 'full', limits: { recentStates: RECENT, unwrittenGas: 1 } }
const MODES = [
  ['seldom written', FULL],
  ['written with each block', EAGER],
  ['archive', ARCHIVE],
] as const

let root: string
let datadir: string
let lines: string[] = []
const opened: Chain[] = []

async function open(options: OpenChainOptions, from = datadir): Promise<Chain> {
  lines = []
  const logger = createLogger({ level: 'info', format: 'logfmt', color: false, write: (line) => lines.push(line) })
  const chain = await openChain(from, { logger, clock: systemClock }, options)
  opened.push(chain)
  return chain
}

async function setHead(chain: Chain, headBlockHash: Hex, finalizedBlockHash: Hex = ZERO_HASH): Promise<void> {
  await chain.setForkchoice({ headBlockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash })
}

async function grow(chain: Chain, length: number, salt = 0n): Promise<void> {
  for (let index = 0; index < length; index++) {
    const head = await extendChain(chain, rollup, chain.head().hash, { salt })
    // So that no state is given up, however far a branch begins below the head.
    await setHead(chain, head, chain.finalized()?.hash ?? chain.genesis.hash)
  }
}

async function ancestor(chain: Chain, number: number): Promise<BlockHeader> {
  return (await chain.headerByNumber(number)) ?? expect.unreachable(`no block ${number}`)
}

const RECIPIENTS = Array.from({ length: 80 }, (_, index): Hex => `0x${(index + 1).toString(16).padStart(40, '0')}`)
const ADDRESSES = [...Object.keys(genesis.alloc as object).slice(0, 50), ...DEV_ADDRESSES, ...RECIPIENTS].map(
  (address): Hex => `0x${address.replace('0x', '').toLowerCase()}`,
)
const SLOTS = Array.from({ length: 9 }, (_, index): Hex => `0x${index.toString(16).padStart(64, '0')}`)

/** What is read flat is what the trie proves. */
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

const flatBlockOf = async (from = datadir): Promise<Hex | undefined> => {
  const hash = (await tableOnDisk(from, 'm')).get(toHex(Buffer.from('flat')))
  return hash === undefined ? undefined : toHex(hash)
}

/** The closed chain's leaves on the disk, beside those of the trie of their block. */
async function expectWhole(headers: readonly BlockHeader[], from = datadir): Promise<void> {
  const block = await flatBlockOf(from)
  const header = headers.find(({ hash }) => hash === block) ?? expect.unreachable('the flat state has no block')
  const nodes = await nodesOnDisk(from)
  const store = { node: (hash: Uint8Array, owner?: Uint8Array) => nodes.get(toHex(nodeKey(hash, owner))) }
  const expected = new Map<Hex, Hex>()
  for (const { key, value } of stateDifference(store, fromHex(EMPTY_TRIE_ROOT), fromHex(header.stateRoot))) {
    expected.set(toHex(key), toHex(value ?? new Uint8Array()))
  }
  const found = [...(await tableOnDisk(from, 'l'))].map(([key, value]): [Hex, Hex] => [key, toHex(value)])
  expect(new Map(found)).toEqual(expected)
}

async function headersOf(chain: Chain): Promise<BlockHeader[]> {
  return Promise.all(Array.from({ length: chain.head().number + 1 }, (_, number) => ancestor(chain, number)))
}

/** What a process that is killed leaves behind. */
function killedCopy(name: string): string {
  const copy = join(root, name)
  cpSync(datadir, copy, { recursive: true })
  return copy
}

async function edit(from: string, change: (level: ClassicLevel<Uint8Array, Uint8Array>) => Promise<void>) {
  const encoding = { keyEncoding: 'view', valueEncoding: 'view' } as const
  const level = new ClassicLevel<Uint8Array, Uint8Array>(join(from, 'geth', 'chaindata'), encoding)
  await change(level)
  await level.close()
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'devium-flat-'))
  datadir = join(root, 'data')
  await initChain(datadir, genesis)
})

afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.close()
  rmSync(root, { recursive: true, force: true })
})

describe('the flat state', () => {
  it.each(MODES)('is that of a block below the head, whole: %s', async (_, options) => {
    const chain = await open(options)
    await grow(chain, 30)
    await expectRight(chain)
    await expectRight(chain, await ancestor(chain, 25))
    await expectRight(chain, await ancestor(chain, 2))
    const headers = await headersOf(chain)
    await chain.close()
    expect(await flatBlockOf()).toBe(headers.at(-RECENT)?.hash)
    expect(lines.join()).not.toContain('flat state')
    // In full mode states that were not written come back with the next start.
    if (options !== FULL) await expectWhole(headers)
  })

  it.each(MODES)('follows the head to other branches, however far below they begin: %s', async (_, options) => {
    const chain = await open(options)
    await grow(chain, 30)
    const first = chain.head()
    for (const [index, number] of [27, 12, 3].entries()) {
      await setHead(chain, (await ancestor(chain, number)).hash)
      await expectRight(chain)
      await grow(chain, 12, BigInt(index + 1))
      await expectRight(chain)
    }
    const last = chain.head()
    await setHead(chain, first.hash)
    await expectRight(chain)
    await setHead(chain, last.hash)
    await grow(chain, 10, 9n)
    await expectRight(chain)
    const headers = await headersOf(chain)
    await chain.close()
    expect(await flatBlockOf()).toBe(headers.at(-RECENT)?.hash)
    if (options !== FULL) await expectWhole(headers)
    const again = await open(options)
    await expectRight(again)
    expect(lines.join()).not.toContain('Building the flat state')
  })

  it.each(MODES)('is brought to the head after a crash: %s', async (_, options) => {
    const chain = await open(options)
    await grow(chain, 25)
    const copy = killedCopy('killed')
    const again = await open(options, copy)
    expect(again.head().hash).toBe(chain.head().hash)
    await expectRight(again)
    await grow(again, 12)
    await expectRight(again)
    expect(lines.join()).not.toContain('Building the flat state')
    const headers = await headersOf(again)
    await again.close()
    expect(await flatBlockOf(copy)).toBe(headers.at(-RECENT)?.hash)
    if (options !== FULL) await expectWhole(headers, copy)
  })

  it('is built at the start where there is none, and where that was not finished', async () => {
    const chain = await open(ARCHIVE)
    await grow(chain, 12)
    const head = chain.head()
    await chain.close()
    await edit(datadir, async (level) => {
      await level.del(Buffer.from('mflat'))
      // Some of another state, as a process leaves it that is killed while it builds.
      await level.put(Buffer.concat([Buffer.from('l'), Buffer.alloc(32, 1)]), Buffer.from('rest'))
      await level.clear({ gte: Buffer.from('l\x80'), lt: Buffer.from('m') })
    })
    const again = await open(ARCHIVE)
    expect(lines.join()).toMatch(/Building the flat state from the trie.*number=12/)
    expect(lines.join()).toMatch(/The flat state is built.*leaves=\d+/)
    await expectRight(again)
    await again.close()
    expect(await flatBlockOf()).toBe(head.hash)
    await expectWhole([head])
  })

  it('is built anew where its block cannot be led to the head', async () => {
    const chain = await open(EAGER)
    await grow(chain, 12)
    await chain.close()
    const missing = (await ancestor(await open(EAGER), 5)).hash
    await opened.at(-1)?.close()
    for (const block of [missing, `0x${'ab'.repeat(32)}` as Hex]) {
      await edit(datadir, async (level) => {
        await level.put(Buffer.from('mflat'), fromHex(block))
        // The root of that block's state.
        if (block === missing) await level.del(Buffer.from(`68${block.slice(2)}`, 'hex'))
      })
      const again = await open(EAGER)
      expect(lines.join()).toContain('The flat state is built')
      await expectRight(again)
      await grow(again, 3)
      await expectRight(again)
      await again.close()
    }
  })
})

it('tells by the key of a leaf how far it is', () => {
  expect(placeOf(Uint8Array.of(0x40, 0, 0))).toBe(0.25)
  expect(placeOf(new Uint8Array(32).fill(0xff))).toBeCloseTo(1, 6)
})
