import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { devAccounts } from '../../testnet/accounts.ts'
import { forksAtGenesis } from '../../testnet/forks.ts'
import { heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A chain that activates the forks from Ecotone to Karst while it runs, on three nodes, with batches in blobs.

/** L2 blocks are one second apart, so these are also the numbers of the activation blocks. */
const ACTIVATIONS = { fjord: 4, granite: 7, holocene: 10, isthmus: 13, jovian: 16, karst: 19 } as const
const LAST = ACTIVATIONS.karst
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000f'
/** Selectors: `isIsthmus()`, `isJovian()`. */
const IS_ISTHMUS = '0xb54501bc'
const IS_JOVIAN = '0x105d0b81'

interface Block {
  number: string
  hash: string
  timestamp: string
  extraData: string
  gasLimit: string
  transactions: { type: string; from: string; blobVersionedHashes?: string[] }[]
  withdrawalsRoot: string
  requestsHash?: string
}

const { connectTo, close } = createRpcClients()
let testnet: RunningTestnet
let eth: RpcClient[]
let rollup: RpcClient[]

const block = async (rpc: RpcClient | undefined, number: number): Promise<Block> =>
  (await rpc?.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])) as Block
const safeHeads = () => Promise.all(rollup.map(async (rpc) => (await heads(rpc)).safe_l2.number))
/** Calls the gas price oracle after that block. */
async function oracle(selector: string, number: number): Promise<unknown> {
  return eth[1]?.request('eth_call', [{ to: GAS_PRICE_ORACLE, data: selector }, `0x${number.toString(16)}`])
}

// In this order: the tests follow one chain through its forks.
describe('a testnet that is upgraded while it runs', { shuffle: false }, () => {
  beforeAll(async () => {
    const plan = Object.entries(ACTIVATIONS).map(([fork, seconds]) => `${fork}:${seconds}`)
    testnet = await startTestnet({ args: ['--da', 'blobs', '--fork-at', plan.join()] })
    eth = testnet.nodes.map(({ ethRpc }) => connectTo(ethRpc))
    rollup = testnet.nodes.map(({ rollupRpc }) => connectTo(rollupRpc))
  })
  afterAll(async () => {
    await close()
    await testnet?.stop()
  })

  it('reports its fork, and each activation', async () => {
    const { genesisTime, forks } = testnet.l2
    const later = Object.entries(ACTIVATIONS).map(([fork, seconds]) => ({ fork, time: genesisTime + seconds }))
    expect(forks).toEqual({ genesis: 'ecotone', later })
    const config = await rollup[1]?.request('optimism_rollupConfig', [])
    expect(config).toMatchObject({
      ...Object.fromEntries(Object.keys(forksAtGenesis('ecotone')).map((fork) => [`${fork}_time`, 0])),
      karst_time: genesisTime + LAST,
    })
    const forkEvents = () =>
      testnet.events.flatMap((event) => (event.event === 'fork' ? [[event.fork, event.block]] : []))
    await expect.poll(forkEvents).toEqual(Object.entries(ACTIVATIONS))
  })

  it('advances the safe head through all of them, and the nodes agree', async () => {
    await expect.poll(async () => Math.min(...(await safeHeads()))).toBeGreaterThan(LAST + 3)
    for (let number = 0; number <= LAST + 3; number++) {
      const [first, ...others] = await Promise.all(eth.map((rpc) => block(rpc, number)))
      for (const other of others) expect(other).toEqual(first)
    }
  })

  it('has all its batches in blobs', async () => {
    const l1 = connectTo(testnet.l1.rpc)
    const blocks = Array.from({ length: Number(await l1.request('eth_blockNumber', [])) }, (_, index) => index + 1)
    const transactions = await Promise.all(blocks.map(async (number) => (await block(l1, number)).transactions))
    const batches = transactions.flat().filter(({ from }) => from === testnet.batcher.address)
    expect(batches.length).toBeGreaterThan(3)
    for (const { type, blobVersionedHashes } of batches) {
      expect(type).toBe('0x3')
      expect(blobVersionedHashes).toHaveLength(1)
    }
  })

  it('has the upgrade transactions in the activation blocks, and they succeed', async () => {
    for (const [fork, deposits] of [
      ['fjord', 3],
      ['granite', 0],
      ['holocene', 0],
      ['isthmus', 8],
      ['jovian', 5],
      ['karst', 31],
    ] as const) {
      const { transactions, number } = await block(eth[2], ACTIVATIONS[fork])
      // The first is the L1 info deposit.
      expect(transactions.map(({ type }) => type)).toEqual(Array(deposits + 1).fill('0x7e'))
      const receipts = (await eth[2]?.request('eth_getBlockReceipts', [number])) as { status: string }[]
      expect(receipts.map(({ status }) => status)).toEqual(Array(deposits + 1).fill('0x1'))
    }
    for (const [flag, since] of [
      [IS_ISTHMUS, ACTIVATIONS.isthmus],
      [IS_JOVIAN, ACTIVATIONS.jovian],
    ] as const) {
      expect(await oracle(flag, since - 1).catch(String)).toMatch(/revert/)
      for (const number of [since, LAST]) expect(await oracle(flag, number)).toBe(`0x${'1'.padStart(64, '0')}`)
    }
  })

  it('changes the header format, and raises the gas limit for one block', async () => {
    const before = await block(eth[0], ACTIVATIONS.isthmus - 1)
    expect(before.requestsHash).toBeUndefined()
    const isthmus = await block(eth[0], ACTIVATIONS.isthmus)
    expect(isthmus.requestsHash).toMatch(/^0xe3b0c442/)
    expect(isthmus.withdrawalsRoot).not.toBe(before.withdrawalsRoot)
    expect((await block(eth[0], ACTIVATIONS.holocene - 1)).extraData).toBe('0x')
    expect((await block(eth[0], ACTIVATIONS.holocene)).extraData).toHaveLength(2 + 18)
    expect((await block(eth[0], ACTIVATIONS.jovian - 1)).extraData).toHaveLength(2 + 18)
    expect((await block(eth[0], ACTIVATIONS.jovian)).extraData).toHaveLength(2 + 34)
    const limits = await Promise.all([LAST - 1, LAST, LAST + 1].map((at) => block(eth[0], at)))
    expect(limits.map(({ gasLimit }) => Number(gasLimit))).toEqual([60_000_000, 60_000_000 + 55_370_657, 60_000_000])
  })

  it('accepts transactions as before, and supports CLZ', async () => {
    const [, , carol] = devAccounts
    const account = privateKeyToAccount(carol?.privateKey ?? '0x')
    // Constructor: returns the word of leading zeros of 1.
    const data = '0x60011e60005260206000f3'
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId: testnet.l2.chainId,
      nonce: 0,
      gas: 200_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
      data,
    })
    const hash = await eth[2]?.request('eth_sendRawTransaction', [raw])
    const receiptOn = (rpc: RpcClient) => rpc.request('eth_getTransactionReceipt', [hash])
    for (const rpc of eth) await expect.poll(() => receiptOn(rpc)).toMatchObject({ status: '0x1' })
    const [first, ...others] = await Promise.all(eth.map(receiptOn))
    for (const other of others) expect(other).toEqual(first)
    const { contractAddress } = first as { contractAddress: string }
    expect(await eth[1]?.request('eth_getCode', [contractAddress, 'latest'])).toBe(`0x${'ff'.padStart(64, '0')}`)
  })

  it('logs no warnings', () => {
    expect(testnet.complaints().slice(0, 10)).toEqual([])
  })
})
