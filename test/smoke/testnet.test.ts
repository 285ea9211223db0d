import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEV_KEYS, signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { toHex, toQuantity } from '../../src/lib/hex.ts'
import { heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// The least that a testnet must do. The suite in test/system asks it for everything else.

const clients = createRpcClients()
let testnet: RunningTestnet
let nodes: RpcClient[]
let engines: RpcClient[]

beforeAll(async () => {
  testnet = await startTestnet()
  nodes = testnet.nodes.map(({ rollupRpc }) => clients.connectTo(rollupRpc))
  engines = testnet.nodes.map(({ ethRpc }) => clients.connectTo(ethRpc))
})
afterAll(async () => {
  await clients.close()
  await testnet?.stop()
})

const request = async (client: RpcClient | undefined, method: string, params: (string | boolean)[]) =>
  (await client?.request(method, params)) as { hash: string; status: string; blockNumber: string } | null

// In this order: the last one stops it.
describe('a testnet of three nodes', { shuffle: false }, () => {
  it('includes a transaction sent to a verifier, and every node derives its block from L1', async () => {
    const { raw, hash } = signTransaction(DEV_KEYS[0], { to: `0x${'d3'.repeat(20)}`, value: 1n })
    expect(await engines[2]?.request('eth_sendRawTransaction', [toHex(raw)])).toBe(hash)
    await expect.poll(() => request(engines[0], 'eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' })
    const receipt = await request(engines[0], 'eth_getTransactionReceipt', [hash])
    const number = Number(receipt?.blockNumber)
    const block = await request(engines[0], 'eth_getBlockByNumber', [toQuantity(number), false])
    for (const [index, node] of nodes.entries()) {
      await expect.poll(async () => (await heads(node)).safe_l2.number).toBeGreaterThanOrEqual(number)
      expect(await request(engines[index], 'eth_getBlockByNumber', [toQuantity(number), false])).toEqual(block)
    }
  })

  it('nodes are connected to each other and follow by gossip', async () => {
    for (const node of nodes) {
      await expect.poll(() => node.request('opp2p_peerStats', [])).toMatchObject({ connected: 2, blocksTopicV4: 2 })
    }
    const made = await Promise.all(nodes.map(async (node) => (await heads(node)).unsafe_l2.number))
    for (const node of nodes) {
      await expect.poll(async () => (await heads(node)).unsafe_l2.number).toBeGreaterThan(Math.max(...made))
    }
  })

  it('logs no warnings, and stops in order', async () => {
    expect(testnet.complaints()).toEqual([])
    expect(await testnet.stop()).toBe(0)
    expect(testnet.events.filter(({ event }) => event === 'warning' || event === 'ended')).toEqual([])
  })
})
