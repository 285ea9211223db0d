import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEV_KEYS, signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { toHex, toQuantity } from '../../src/lib/hex.ts'
import { decodeRlp } from '../../src/lib/rlp.ts'
import { blockHeaderFromJson, blockHeaderHash, encodeBlockHeader } from '../../src/rollup/protocol/index.ts'
import { roles } from '../../testnet/accounts.ts'
import { DATA_AVAILABILITY } from '../../testnet/chainParameters.ts'
import { readNextOutput } from '../../testnet/l1/outputOracle.ts'
import { expectSameOutput, heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A testnet on a real L1 execution client, which goes through Amsterdam while the chain runs. Needs a binary of go-ethereum,
// 1.17.10 or newer: DEVIUM_GETH=/path/to/geth.
const geth = process.env.DEVIUM_GETH
const title =
  geth === undefined
    ? 'on go-ethereum as the L1 (skipped: DEVIUM_GETH names no binary)'
    : 'on go-ethereum as the L1, through Amsterdam'

/** Seconds after the start: a testnet is ready earlier, and its first batches are on L1. */
const AMSTERDAM = 30
/** Bytes of a transaction whose batch costs more than it did before Amsterdam: what a byte costs at least has risen. */
const LONG = 2_000

interface Block {
  number: string
  hash: string
  timestamp: string
  slotNumber?: string
  transactions: { from: string; blobVersionedHashes?: string[] }[]
}

describe.skipIf(geth === undefined)(title, () => {
  it('accepts a fork on a kept chain', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'devium-geth-l1-'))
    const flags = ['--l1-client', `geth=${geth}`]
    const clients = createRpcClients()
    try {
      const before = await startTestnet({ dir, nodes: 1, args: flags })
      expect(await before.stop()).toBe(0)
      const testnet = await startTestnet({ dir, nodes: 1, args: [...flags, '--l1-fork-at', 'amsterdam:1'] })
      const [l1, rollup] = [testnet.l1.rpc, testnet.nodes[0]?.rollupRpc].map((url) => clients.connectTo(url))
      const latest = async () => (await l1?.request('eth_getBlockByNumber', ['latest', false])) as Block
      await expect.poll(latest).toHaveProperty('slotNumber')
      const safeHead = async () => (rollup === undefined ? 0 : (await heads(rollup)).safe_l2.number)
      const forked = await safeHead()
      await expect.poll(safeHead).toBeGreaterThan(forked + 5)
      await testnet.command('l1 stop')
      const stopped = await latest()
      const head = async () => (rollup === undefined ? 0 : (await heads(rollup)).unsafe_l2.number)
      const made = await head()
      await expect.poll(head).toBeGreaterThan(made + 5)
      expect((await latest()).hash).toBe(stopped.hash)
      const safe = await safeHead()
      await testnet.command('l1 start')
      await expect.poll(safeHead).toBeGreaterThan(safe)
      expect(await testnet.stop()).toBe(0)
    } finally {
      await clients.close()
      rmSync(dir, { recursive: true, force: true })
    }
  })

  describe.each(DATA_AVAILABILITY)('with batches in %s', (da) => {
    const directory = mkdtempSync(join(tmpdir(), 'devium-geth-l1-'))
    const flags = ['--l1-client', `geth=${geth}`, '--l1-fork-at', `amsterdam:${AMSTERDAM}`, '--da', da]
    let clients = createRpcClients()
    let testnet: RunningTestnet
    let l1: RpcClient
    let eth: RpcClient[]
    let rollup: RpcClient[]

    const start = async () => {
      testnet = await startTestnet({ dir: directory, nodes: 2, args: flags })
      clients = createRpcClients()
      l1 = clients.connectTo(testnet.l1.rpc)
      eth = testnet.nodes.map(({ ethRpc }) => clients.connectTo(ethRpc))
      rollup = testnet.nodes.map(({ rollupRpc }) => clients.connectTo(rollupRpc))
    }
    const block = async (tag: string) => (await l1.request('eth_getBlockByNumber', [tag, true])) as Block
    const safeHeads = () => Promise.all(rollup.map(async (rpc) => (await heads(rpc)).safe_l2.number))
    const lowestSafeHead = async () => Math.min(...(await safeHeads()))
    const receiptOf = async (rpc: RpcClient | undefined, hash: string) =>
      (await rpc?.request('eth_getTransactionReceipt', [hash])) as { status: string; blockNumber: string } | null
    /** All nodes derive the L2 block. */
    const becomesSafe = async (number: number) => {
      await expect.poll(lowestSafeHead).toBeGreaterThanOrEqual(number)
      for (const verifier of rollup.slice(1)) await expectSameOutput(rollup[0] ?? verifier, verifier)
    }
    /** A transaction on L2 whose data nobody can compress. */
    const sendLong = async (nonce: number): Promise<number> => {
      const { raw, hash } = signTransaction(DEV_KEYS[0], { nonce, data: randomBytes(LONG), gasLimit: 200_000n })
      await eth[0]?.request('eth_sendRawTransaction', [toHex(raw)])
      await expect.poll(() => receiptOf(eth[0], hash)).toMatchObject({ status: '0x1' })
      return Number((await receiptOf(eth[0], hash))?.blockNumber)
    }

    beforeAll(start)
    afterAll(async () => {
      await clients.close()
      await testnet?.stop()
      rmSync(directory, { recursive: true, force: true })
    })

    it('the safe heads of all nodes advance before the fork', async () => {
      await becomesSafe(await sendLong(0))
    })

    it('headers have 23 fields from the fork on, with the slot number', async () => {
      await expect.poll(async () => (await block('latest')).slotNumber).toBeDefined()
      const { amsterdamTime } = JSON.parse(readFileSync(join(testnet.joinDir, 'l1.json'), 'utf8'))
      const last = Number((await block('latest')).number)
      const genesisTime = Number((await block('0x0')).timestamp)
      for (let number = 0; number <= last; number++) {
        const json = await block(toQuantity(number))
        const header = blockHeaderFromJson(json)
        expect(blockHeaderHash(header)).toBe(json.hash)
        const isAmsterdam = Number(json.timestamp) >= amsterdamTime
        expect(decodeRlp(encodeBlockHeader(header))).toHaveLength(isAmsterdam ? 23 : 21)
        const slot = toQuantity((Number(json.timestamp) - genesisTime) / testnet.l1.blockTime)
        expect(json.slotNumber).toBe(isAmsterdam ? slot : undefined)
      }
    })

    it('the safe heads of all nodes advance after the fork, past a long batch', async () => {
      const number = await sendLong(1)
      await becomesSafe(number + 3)
    })

    it('includes deposits, and logs their ether transfer', async () => {
      const to = testnet.l1.contracts.OptimismPortal
      const gasLimit = 1_000_000n
      const { raw, hash } = signTransaction(DEV_KEYS[1], {
        chainId: 900n,
        to,
        value: 5n,
        gasLimit,
        maxFeePerGas: 10n ** 10n,
      })
      const [, bob] = testnet.accounts
      const balance = async (tag: string) =>
        BigInt(String(await eth[1]?.request('eth_getBalance', [bob?.address, tag])))
      const before = await balance('latest')
      await l1.request('eth_sendRawTransaction', [toHex(raw)])
      await expect.poll(() => receiptOf(l1, hash)).toMatchObject({ status: '0x1' })
      await expect.poll(() => balance('safe')).toBe(before + 5n)
    })

    it('accepts outputs', async () => {
      const next = async () => (await readNextOutput(l1, testnet.l1.contracts.L2OutputOracle, {})).number
      const before = await next()
      await expect.poll(next).toBeGreaterThan(before)
      expect(testnet.complaints().filter((line) => line.startsWith('proposer'))).toEqual([])
    })

    it('has the batches in the configured place', async () => {
      const numbers = Array.from({ length: Number(await l1.request('eth_blockNumber', [])) }, (_, index) => index + 1)
      const blocks = await Promise.all(numbers.map((number) => block(toQuantity(number))))
      const batches = blocks
        .flatMap(({ transactions }) => transactions)
        .filter(({ from }) => from === roles.batcher.address)
      expect(batches.length).toBeGreaterThan(3)
      const withBlobs = batches.filter(({ blobVersionedHashes = [] }) => blobVersionedHashes.length > 0)
      if (da === 'calldata') expect(withBlobs).toEqual([])
      if (da === 'blobs') expect(withBlobs).toEqual(batches)
    })

    it('is kept, and continues after the fork', async () => {
      await clients.close()
      expect(await testnet.stop()).toBe(0)
      expect(testnet.events.filter(({ event }) => event === 'warning' || event === 'ended')).toEqual([])
      await start()
      await becomesSafe(await sendLong(2))
      expect((await block('latest')).slotNumber).toBeDefined()
    })
  })
})
