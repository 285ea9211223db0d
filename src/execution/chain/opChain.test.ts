import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { systemClock } from '../../lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { type PayloadEnvelope, ZERO_HASH } from '../../rollup/protocol/types.ts'
import { rulesAt } from '../config/chainConfig.ts'
import { precompilesUnder } from '../evm/precompiles/index.ts'
import { encodeBlock, initChain, openChain } from '../index.ts'
import type { BlockHeader, Transaction } from '../primitives/block.ts'
import { extendChain } from '../testUtils/extendChain.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES } from '../testUtils/signTransaction.ts'
import type { Chain } from './opChain.ts'
import { envelopeOfBlock } from './storage/blockFile.ts'
import { ChainDatabase } from './storage/chainDatabase.ts'
import { sealHeader } from './storage/headerCodec.ts'
import type { ExecutedBlock, HeadChange } from './types.ts'

const RECORDING = 'holocene-span-brotli-calldata'
const { genesis, rollup } = loadRecordedRpc(RECORDING)
const UNKNOWN: Hex = `0x${'99'.repeat(32)}`

let datadir: string
let chain: Chain

const open = () => openChain(datadir, { logger: silentLogger, clock: systemClock })
const extend = (parent: Hex, options = {}) => extendChain(chain, rollup, parent, options)
const setHead = (head: Hex, safe: Hex = ZERO_HASH, finalized: Hex = ZERO_HASH) =>
  chain.setForkchoice({ headBlockHash: head, safeBlockHash: safe, finalizedBlockHash: finalized })

async function reopen(): Promise<void> {
  await chain.close()
  chain = await open()
}

/** States of other branches are not written at the end. If such a block becomes head, its blocks are executed again. */
async function recoverState(hash: Hex): Promise<void> {
  if ((await chain.stateAt(hash)) !== undefined) return
  const head = chain.head().hash
  await setHead(hash)
  expect(await chain.stateAt(hash)).toBeDefined()
  await setHead(head)
}

/** `length` blocks on top of `parent`, not canonical. */
async function branch(parent: Hex, length: number, salt: bigint): Promise<Hex[]> {
  const hashes: Hex[] = []
  for (let index = 0; index < length; index++) hashes.push(await extend(hashes.at(-1) ?? parent, { salt }))
  return hashes
}

/** Headers from the genesis to `head`, found by parent hashes. */
async function ancestry(head: BlockHeader): Promise<BlockHeader[]> {
  const headers = [head]
  for (let header = head; header.number > 0; ) {
    const parent = await chain.headerByHash(header.parentHash)
    if (parent === undefined) throw new Error(`ancestor ${header.parentHash} is missing`)
    header = parent
    headers.unshift(header)
  }
  return headers
}

/** Every canonical lookup must give exactly the ancestors of the head. */
async function expectConsistent(): Promise<void> {
  const head = chain.head()
  const headers = await ancestry(head)
  for (const [number, header] of headers.entries()) {
    expect((await chain.headerByNumber(number))?.hash).toBe(header.hash)
    expect(await chain.isCanonical(header)).toBe(true)
    const block = await chain.blockByNumber(number)
    for (const [index, { hash }] of (block?.transactions ?? []).entries()) {
      expect(await chain.transactionByHash(hash)).toMatchObject({ index, block: { hash: header.hash } })
    }
    expect(await chain.receipts(header.hash)).toHaveLength(block?.transactions.length ?? -1)
  }
  expect(await chain.headerByNumber(head.number + 1)).toBeUndefined()
  // The state is complete: the sender's nonce counts its transfers.
  const account = await (await chain.stateAt(head.hash))?.account(DEV_ADDRESSES[0])
  let sent = 0
  for (const { hash } of headers) sent += ((await chain.blockByHash(hash))?.transactions.length ?? 0) || 0
  expect(account?.nonce).toBe(BigInt(sent - head.number))
}

beforeEach(async () => {
  datadir = mkdtempSync(join(tmpdir(), 'devium-chain-'))
  await initChain(datadir, genesis)
  chain = await open()
})

afterEach(async () => {
  await chain.close()
  rmSync(datadir, { recursive: true, force: true })
})

it('notifies of newly executed blocks, not of built or known blocks', async () => {
  const executed: ExecutedBlock[] = []
  chain.onExecuted((block) => executed.push(block))
  const built = await chain.blockByHash(await extend(chain.genesis.hash))
  if (built === undefined) throw new Error('no block')
  expect(executed).toEqual([])
  await chain.close()
  rmSync(datadir, { recursive: true })
  await initChain(datadir, genesis)
  chain = await open()
  const unsubscribe = chain.onExecuted((block) => executed.push(block))
  const envelope = envelopeOfBlock(encodeBlock(built))
  for (let time = 0; time < 2; time++) expect(await chain.importPayload(envelope)).toMatchObject({ status: 'VALID' })
  const { gasUsed } = built.header
  expect(executed).toEqual([{ gasUsed, durationMs: expect.any(Number) }])
  unsubscribe()
  await extend(chain.genesis.hash, { salt: 5n })
  expect(executed).toHaveLength(1)
})

it('loads all precompiles when it opens, before the first block or call', () => {
  const precompiles = precompilesUnder(rulesAt({ forks: { karst: 0 } }, 0))
  expect(precompiles.size).toBe(18)
  for (const precompile of precompiles.values()) expect(precompile.load?.()).toBeUndefined()
})

describe('side chains', () => {
  it('importing a block never moves the head', async () => {
    const [first = UNKNOWN] = await branch(chain.genesis.hash, 1, 1n)
    expect(chain.head().hash).toBe(chain.genesis.hash)
    expect(await chain.headerByNumber(1)).toBeUndefined()
    expect(await chain.blockByHash(first)).toBeDefined()
    expect(await chain.receipts(first)).toHaveLength(2)
    expect(await chain.stateAt(first)).toBeDefined()
    await reopen()
    expect(await chain.receipts(first)).toHaveLength(2)
    const left = await chain.blockByHash(first)
    if (left === undefined) throw new Error('no block')
    expect(await chain.importPayload(envelopeOfBlock(encodeBlock(left)))).toMatchObject({ status: 'VALID' })
    expect(await chain.receipts(first)).toHaveLength(2)
    expect(await chain.stateAt(first)).toBeDefined()
  })

  it('reorgs to a longer branch, a shorter branch and back keep state and indexes consistent', async () => {
    const a = await branch(chain.genesis.hash, 4, 1n)
    const b = await branch(a[0] ?? UNKNOWN, 5, 2n)
    const c = await branch(chain.genesis.hash, 2, 3n)
    const changes: HeadChange[] = []
    chain.onHead((change) => changes.push(change))
    for (const list of [a, b, c, a]) {
      await setHead(list.at(-1) ?? UNKNOWN)
      await expectConsistent()
    }
    expect(changes.map(({ removed, added }) => [removed.length, added.length])).toEqual([
      [0, 4],
      [3, 5],
      [6, 2],
      [2, 4],
    ])
    // Blocks leave from the top down and join from the bottom up.
    expect(changes[1]?.removed.map(({ number }) => number)).toEqual([4, 3, 2])
    expect(changes[1]?.added.map(({ number }) => number)).toEqual([2, 3, 4, 5, 6])
  })

  it('transactions of a reorged block are not found by hash', async () => {
    const [lost = UNKNOWN] = await branch(chain.genesis.hash, 1, 1n)
    const [other = UNKNOWN] = await branch(chain.genesis.hash, 1, 2n)
    await setHead(lost)
    const hash = (await chain.blockByHash(lost))?.transactions[1]?.hash ?? UNKNOWN
    expect(await chain.transactionByHash(hash)).toBeDefined()
    await setHead(other)
    expect(await chain.transactionByHash(hash)).toBeUndefined()
    expect(await chain.receipts(lost)).toHaveLength(2)
  })

  it('state and indexes stay consistent over random blocks, heads and restarts', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('extend' as const), parent: fc.nat() }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('head' as const), block: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    )
    const blocks = [chain.genesis.hash]
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
        for (const step of steps) {
          if (step.kind === 'restart') await reopen()
          else if (step.kind === 'head') await setHead(blocks[step.block % blocks.length] ?? UNKNOWN)
          else {
            const parent = blocks[step.parent % blocks.length] ?? UNKNOWN
            await recoverState(parent)
            blocks.push(await extend(parent, { salt: BigInt(blocks.length) }))
          }
        }
        await expectConsistent()
      }),
      { numRuns: propertyRuns(12) },
    )
  })
})

describe('labels', () => {
  it('safe and finalized survive a restart', async () => {
    const [first = UNKNOWN, second = UNKNOWN, third = UNKNOWN] = await branch(chain.genesis.hash, 3, 1n)
    await setHead(third, second, first)
    await reopen()
    expect([chain.head().hash, chain.safe()?.hash, chain.finalized()?.hash]).toEqual([third, second, first])
  })

  it('a refused forkchoice changes nothing', async () => {
    const [a = UNKNOWN] = await branch(chain.genesis.hash, 1, 1n)
    const [b = UNKNOWN] = await branch(chain.genesis.hash, 1, 2n)
    await setHead(a)
    await expect(setHead(b, a)).rejects.toMatchObject({ code: 'invalid-forkchoice' })
    await expect(setHead(b, ZERO_HASH, UNKNOWN)).rejects.toMatchObject({ code: 'invalid-forkchoice' })
    expect(chain.head().hash).toBe(a)
    await expectConsistent()
    expect(await setHead(UNKNOWN)).toEqual({ status: 'SYNCING' })
  })

  it('the head does not move while it cannot be written, and moves afterwards', async () => {
    const first = await extend(chain.genesis.hash)
    await setHead(first)
    const second = await extend(first)
    const heads: Hex[] = []
    chain.onHead(({ head }) => heads.push(head.hash))
    const write = vi.spyOn(ChainDatabase.prototype, 'write').mockRejectedValueOnce(new Error('no space left on device'))
    await expect(setHead(second)).rejects.toThrow('no space left on device')
    write.mockRestore()
    expect(chain.head().hash).toBe(first)
    expect(heads).toEqual([])
    await expectConsistent()
    await setHead(second)
    expect(heads).toEqual([second])
    await reopen()
    expect(chain.head().hash).toBe(second)
    await expectConsistent()
  })

  it('a label above the head is not canonical', async () => {
    const [first = UNKNOWN, second = UNKNOWN] = await branch(chain.genesis.hash, 2, 1n)
    await setHead(second)
    await expect(setHead(first, second)).rejects.toMatchObject({ code: 'invalid-forkchoice' })
  })
})

describe('invalid payloads', () => {
  async function goodPayload() {
    const hash = await extend(chain.genesis.hash)
    const block = await chain.blockByHash(hash)
    if (block === undefined) throw new Error('block is missing')
    return block
  }

  function envelopeOf(header: BlockHeader, transactions: readonly Transaction[]): PayloadEnvelope {
    return {
      parentBeaconBlockRoot: header.parentBeaconBlockRoot ?? ZERO_HASH,
      payload: {
        parentHash: header.parentHash,
        feeRecipient: header.coinbase,
        stateRoot: header.stateRoot,
        receiptsRoot: header.receiptsRoot,
        logsBloom: header.logsBloom,
        prevRandao: header.mixHash,
        blockNumber: header.number,
        gasLimit: header.gasLimit,
        gasUsed: header.gasUsed,
        timestamp: header.timestamp,
        extraData: header.extraData,
        baseFeePerGas: header.baseFeePerGas,
        blockHash: header.hash,
        transactions: transactions.map(({ raw }) => raw),
        withdrawals: [],
        blobGasUsed: 0n,
        excessBlobGas: 0n,
      },
    }
  }

  it('a wrong state root under a matching block hash leaves no trace', async () => {
    const { header, transactions } = await goodPayload()
    const { hash: _, ...rest } = header
    const forged = sealHeader({ ...rest, stateRoot: UNKNOWN })
    const blockHash = forged.hash
    const status = await chain.importPayload(envelopeOf(forged, transactions))
    expect(status).toMatchObject({ status: 'INVALID', latestValidHash: chain.genesis.hash })
    expect(status).toMatchObject({ validationError: expect.stringContaining('invalid merkle root') })
    expect(await chain.headerByHash(blockHash)).toBeUndefined()
    // Neither it, nor a block on it, nor a block on that one may become head.
    const refused = { status: 'INVALID', latestValidHash: chain.genesis.hash }
    expect(await setHead(blockHash)).toMatchObject(refused)
    const good = await chain.blockByHash(await extend(await extend(chain.genesis.hash)))
    if (good === undefined) throw new Error('no block')
    let parentHash = blockHash
    for (let child = 0; child < 2; child++) {
      const { hash: _, ...members } = good.header
      const made = sealHeader({ ...members, parentHash })
      expect(await chain.importPayload(envelopeOf(made, good.transactions))).toMatchObject(refused)
      expect(await setHead(made.hash)).toMatchObject(refused)
      parentHash = made.hash
    }
  })
})

describe('fork times of a repeated init', () => {
  const withIsthmus = (time: number) => {
    const { config } = genesis as { config: Record<string, JsonValue> }
    return { ...genesis, config: { ...config, isthmusTime: time, pragueTime: time } }
  }

  it('may change if they are after the head, not before it', async () => {
    await setHead(await extend(await extend(chain.genesis.hash)))
    const { timestamp } = chain.head()
    await chain.close()
    await initChain(datadir, withIsthmus(timestamp + 2))
    await initChain(datadir, withIsthmus(timestamp + 4))
    await expect(initChain(datadir, withIsthmus(timestamp))).rejects.toThrow(
      errorWith('usage', 'config.isthmusTime', timestamp + 4, timestamp),
    )
    chain = await open()
    expect(chain.config.forks.isthmus).toBe(timestamp + 4)
  })
})

describe('calls without a gas limit', () => {
  it('read the state of their own block and overrides, not of earlier calls', async () => {
    const [caller, callee]: [Hex, Hex] = [`0x${'ca'.repeat(20)}`, `0x${'ce'.repeat(20)}`]
    // Returns the first slot of the other contract, which is called with little gas.
    const code = {
      caller: fromHex(`0x60205f5f5f73${callee.slice(2)}61fffffa5060205ff3`),
      callee: fromHex('0x5f545f5260205ff3'),
    }
    for (const [value, gas] of [
      [1, 1_000_000n],
      [2, undefined],
      [3, 2n ** 60n],
      [4, 1_000_000n],
    ] as const) {
      const word: Hex = `0x${value.toString(16).padStart(64, '0')}`
      const overrides = {
        [caller]: { code: code.caller },
        [callee]: { code: code.callee, state: { [ZERO_HASH]: word } },
      }
      const request = { to: caller, ...(gas === undefined ? {} : { gas }) }
      const { returnData } = await chain.call(request, { blockHash: chain.genesis.hash, overrides })
      expect(toHex(returnData)).toBe(word)
    }
  })
})

describe('a process killed in the middle', () => {
  const script = fileURLToPath(new URL('../testUtils/crashChild.ts', import.meta.url))

  /**
   * Runs the child until it has reported `blocks` heads, waits a little more, and kills it. Resolves with the last
   * number.
   */
  async function runAndKill(blocks: number, delayMs: number): Promise<number> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, datadir, RECORDING], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let reported = 0
    let count = 0
    await new Promise<void>((resolve, reject) => {
      child.on('close', () => (count >= blocks ? resolve() : reject(new Error('the child ended by itself'))))
      child.stdout.on('data', (chunk: Buffer) => {
        for (const line of chunk.toString().split('\n').filter(Boolean)) {
          reported = Number(line.split(' ')[0])
          if (++count === blocks) setTimeout(() => child.kill('SIGKILL'), delayMs)
        }
      })
    })
    return reported
  }

  it('keeps the reported head, and continues from a complete state', async () => {
    await chain.close()
    for (const [blocks, delayMs] of [
      [3, 0],
      [5, 3],
      [2, 7],
      [8, 11],
      [4, 17],
    ] as const) {
      const reported = await runAndKill(blocks, delayMs)
      chain = await open()
      expect(chain.head().number).toBeGreaterThanOrEqual(reported)
      expect(chain.safe()?.number).toBe(chain.head().number)
      await expectConsistent()
      await setHead(await extend(chain.head().hash))
      await expectConsistent()
      await chain.close()
    }
    chain = await open()
  })
})
