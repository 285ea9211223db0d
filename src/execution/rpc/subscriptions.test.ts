import { createPublicClient, createWalletClient, webSocket } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createWebSocketRpcClient, type WebSocketRpcClient } from '../../jsonRpc/webSocketClient.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { WAIT_LIMIT_MS } from '../../lib/testUtils/until.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { extendChain } from '../testUtils/extendChain.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
/** Emits one log. */
const LOGGER = fromHex(`0x7f${'42'.repeat(32)}5f5fa1`)
const TOPIC: Hex = `0x${'42'.repeat(32)}`

let node: ExecutionNode
let driver: BlockDriver
let socket: WebSocketRpcClient

beforeEach(async () => {
  node = await startExecutionNode(holocene.genesis)
  driver = new BlockDriver(node.engine, holocene.rollup)
  socket = createWebSocketRpcClient({ url: node.wsUrl, timeoutMs: WAIT_LIMIT_MS })
})

afterEach(async () => {
  await socket.close()
  await node.close()
  expect(node.unexpected).toEqual([])
})

/** Collects the notifications of a subscription from the moment this resolves. */
async function collect(...params: unknown[]) {
  const controller = new AbortController()
  const received: unknown[] = []
  const ended = socket.subscribe(
    { method: 'eth_subscribe', params },
    (content) => received.push(content),
    controller.signal,
  )
  // Later requests are answered later.
  await Promise.race([socket.request('eth_chainId', []), ended])
  return {
    received,
    async stop() {
      controller.abort()
      await ended
    },
  }
}

describe('subscriptions', () => {
  it('notify viem of heads, logs and pool transactions', async () => {
    const client = createPublicClient({ transport: webSocket(node.wsUrl, { timeout: WAIT_LIMIT_MS }) })
    const heads: unknown[] = []
    const logs: unknown[] = []
    const hashes: unknown[] = []
    const stops = [
      client.watchBlocks({ onBlock: ({ number, hash }) => heads.push([number, hash]) }),
      client.watchEvent({ onLogs: (found) => logs.push(...found) }),
      client.watchPendingTransactions({ onTransactions: (found) => hashes.push(...found) }),
    ]
    // Each subscribes with its first message. The messages are answered in order.
    await expect.poll(() => client.getChainId()).toBe(Number(node.chain.config.chainId))
    const { raw, hash } = signTransaction(DEV_KEYS[0], { to: null, data: LOGGER, gasLimit: 100_000n })
    await client.sendRawTransaction({ serializedTransaction: toHex(raw) })
    const block = await driver.build()
    await expect.poll(() => logs).toMatchObject([{ topics: [TOPIC], transactionHash: hash, removed: false }])
    await expect.poll(() => heads).toEqual([[1n, block.blockHash]])
    expect(hashes).toEqual([hash])
    for (const stop of stops) stop()
    const wallet = createWalletClient({
      account: privateKeyToAccount(toHex(DEV_KEYS[0])),
      transport: webSocket(node.wsUrl, { timeout: WAIT_LIMIT_MS }),
    })
    expect(await wallet.getChainId()).toBe(Number(node.chain.config.chainId))
    for (const { transport } of [client, wallet]) {
      const rpc = await transport.getRpcClient()
      rpc.close()
    }
  })

  it("send geth's head format, full transactions on request, and logs removed by a reorg", async () => {
    const heads = await collect('newHeads')
    const whole = await collect('newPendingTransactions', true)
    const logs = await collect('logs', { topics: [TOPIC] })
    const others = await collect('logs', { address: `0x${'ab'.repeat(20)}` })
    const syncing = await collect('syncing')
    const before = node.chain.head()
    const { raw, hash } = signTransaction(DEV_KEYS[0], { to: null, data: LOGGER, gasLimit: 100_000n })
    await node.eth.request('eth_sendRawTransaction', [toHex(raw)])
    await driver.build()
    await expect.poll(() => logs.received).toMatchObject([{ transactionHash: hash, removed: false }])
    expect(heads.received).toEqual([await node.eth.request('eth_getHeaderByNumber', ['latest'])])
    expect(whole.received).toMatchObject([{ hash, nonce: '0x0', blockHash: null }])
    const sibling = await extendChain(node.chain, holocene.rollup, before.hash, { salt: 5n })
    await node.chain.setForkchoice({
      headBlockHash: sibling,
      safeBlockHash: before.hash,
      finalizedBlockHash: before.hash,
    })
    await expect.poll(() => logs.received).toMatchObject([{}, { transactionHash: hash, removed: true }])
    expect(heads.received).toMatchObject([{}, { hash: sibling }])
    expect(others.received).toEqual([])
    expect(syncing.received).toEqual([])
    for (const subscription of [heads, whole, logs, others, syncing]) await subscription.stop()
  })

  it("are refused with geth's messages", async () => {
    const refused = async (client: Pick<WebSocketRpcClient, 'request'>, method: string, ...params: unknown[]) => {
      const error = await client.request(method, params).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      return error
    }
    expect(await refused(node.eth, 'eth_subscribe', 'newHeads')).toMatchObject({
      rpcCode: -32601,
      message: 'notifications not supported',
    })
    expect(await refused(socket, 'eth_subscribe', 'nonsense')).toMatchObject({
      rpcCode: -32601,
      message: 'no "nonsense" subscription in eth namespace',
    })
    expect(await refused(socket, 'eth_unsubscribe', '0x1234')).toMatchObject({ message: 'subscription not found' })
    expect(await refused(socket, 'eth_subscribe', 'logs', { topics: 5 })).toMatchObject({ rpcCode: -32602 })
  })

  it('are limited per connection', async () => {
    const client = createWebSocketRpcClient({ url: node.wsUrl, timeoutMs: WAIT_LIMIT_MS })
    const answers = await client.batch(
      Array.from({ length: 101 }, () => ({ method: 'eth_subscribe', params: ['newHeads'] })),
    )
    expect(answers.slice(0, 100).every((id) => typeof id === 'string')).toBe(true)
    expect(answers[100]).toMatchObject({ rpcCode: -32000, message: expect.stringContaining('100') })
    await client.close()
  })
})
