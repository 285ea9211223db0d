import { connect } from 'node:net'
import { join } from 'node:path'
import { createPublicClient, webSocket } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isAlive } from '../../../test/support/processes.ts'
import type { RpcClient } from '../../jsonRpc/client.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { ManualClock } from '../../lib/clock.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { until, WAIT_LIMIT_MS } from '../../lib/testUtils/until.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { type ServedNode, serveNode } from '../testUtils/servedNode.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
/** Stores 7, emits a log, and calls no other contract. */
const BUSY = fromHex('0x600760005560006000a060006000600060006000730000000000000000000000000000000000abcdef5af1')
const ENDLESS: Hex = '0x5b600056'

const clock = new ManualClock(Date.now())
let node: ExecutionNode
let driver: BlockDriver
let mined: Hex

beforeAll(async () => {
  node = await startExecutionNode(holocene.genesis, { clock })
  driver = new BlockDriver(node.engine, holocene.rollup)
  const { raw, hash } = signTransaction(DEV_KEYS[0], { to: null, data: BUSY, gasLimit: 200_000n })
  await node.eth.request('eth_sendRawTransaction', [toHex(raw)])
  await driver.build()
  mined = hash
})

afterAll(() => node.close())

interface Started extends ServedNode {
  /** A client with its own connections. */
  client(): RpcClient
}

async function start(options: Parameters<typeof serveNode>[1] = {}): Promise<Started> {
  const opened = new AsyncDisposableStack()
  const served = opened.use(await serveNode(node, options))
  return {
    ...served,
    client() {
      const client = createPatientClient({ url: served.url })
      opened.defer(() => client.close())
      return client
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const endless = (code: Hex = ENDLESS): JsonValue[] => [
  { to: NOBODY, gas: '0xffffffffffff' },
  'latest',
  { [NOBODY]: { code } },
]

describe('RPC processes', () => {
  it('answer like the engine process, from the same chain', async () => {
    await using started = await start()
    const client = started.client()
    expect(started.processes.stats()).toEqual({ processes: 0, connections: 0, broken: 0 })
    const calls: [string, ...JsonValue[]][] = [
      ['eth_blockNumber'],
      ['eth_chainId'],
      ['eth_call', { to: NOBODY, data: '0x' }, 'latest'],
      ['eth_estimateGas', { from: DEV_ADDRESSES[0], to: NOBODY, value: '0x1' }],
      ['eth_createAccessList', { from: DEV_ADDRESSES[0], data: toHex(BUSY) }],
      ['eth_getLogs', { fromBlock: '0x0' }],
      ['eth_getBlockByNumber', 'latest', true],
      ['eth_getTransactionReceipt', mined],
      ['eth_getTransactionByHash', mined],
      ['eth_getTransactionCount', DEV_ADDRESSES[0], 'latest'],
      ['eth_getProof', DEV_ADDRESSES[0], ['0x0'], 'latest'],
      ['eth_getBalance', DEV_ADDRESSES[0], 'latest'],
      ['eth_feeHistory', '0x2', 'latest', [50]],
      ['debug_traceTransaction', mined],
      ['txpool_status'],
      ['admin_nodeInfo'],
    ]
    for (const [method, ...params] of calls) {
      expect(await client.request(method, params), method).toEqual(await node.eth.request(method, params))
    }
    for (const code of ['0x5f5ffd', '0xfe'] as const) {
      const params = [{ to: NOBODY }, 'latest', { [NOBODY]: { code } }]
      const mine = await node.eth.request('eth_call', params).catch((error: Error) => error.message)
      await expect(client.request('eth_call', params)).rejects.toThrow(String(mine))
    }
    await expect(client.request('eth_nonsense', [])).rejects.toThrow('does not exist')
    expect(started.processes.stats()).toMatchObject({ processes: 1, broken: 0 })
  })

  it('know a block as soon as the engine process has answered that it is the head', async () => {
    await using started = await start()
    const client = started.client()
    for (let count = 0; count < 20; count++) {
      await driver.build()
      const [theirs, mine] = [await client.request('eth_blockNumber', []), node.chain.head().number]
      expect(Number(theirs)).toBe(mine)
    }
  })

  it('drop reorged blocks, and read labels that moved without the head', async () => {
    await using started = await start()
    const client = started.client()
    const before = node.chain.head()
    const nonce = Number(await client.request('eth_getTransactionCount', [DEV_ADDRESSES[2], 'latest']))
    const { raw, hash } = signTransaction(DEV_KEYS[2], { nonce, to: NOBODY, gasLimit: 21_000n })
    await driver.build({ transactions: [raw], noTxPool: true })
    const left = node.chain.head()
    const number = toQuantity(left.number)
    expect(await client.request('eth_getTransactionReceipt', [hash])).toMatchObject({ blockHash: left.hash })
    expect(await client.request('eth_getBlockByNumber', [number, false])).toMatchObject({ hash: left.hash })
    await driver.build({ parent: before.hash, noTxPool: true })
    const head = node.chain.head()
    expect(head).toMatchObject({ number: left.number, parentHash: before.hash })
    expect(head.hash).not.toBe(left.hash)
    expect(await client.request('eth_getTransactionReceipt', [hash])).toBe(null)
    expect(await client.request('eth_getBlockByNumber', [number, false])).toMatchObject({ hash: head.hash })
    await driver.setHead(head.hash, before.hash)
    expect(await client.request('eth_getBlockByNumber', ['safe', false])).toMatchObject({ hash: before.hash })
    await driver.setHead(head.hash, head.hash)
    expect(await client.request('eth_getBlockByNumber', ['safe', false])).toMatchObject({ hash: head.hash })
    // The dropped transaction is in the pool again, where another test would meet it.
    await driver.build()
    expect(await client.request('eth_getTransactionReceipt', [hash])).not.toBe(null)
  })

  it('pass calls of the engine process on to it', async () => {
    await using started = await start()
    const client = started.client()
    const nonce = Number(await client.request('eth_getTransactionCount', [DEV_ADDRESSES[1], 'pending']))
    const { raw, hash } = signTransaction(DEV_KEYS[1], { nonce, to: NOBODY, gasLimit: 21_000n })
    expect(await client.request('eth_sendRawTransaction', [toHex(raw)])).toBe(hash)
    await expect(client.request('eth_sendRawTransaction', [toHex(raw)])).rejects.toThrow('already known')
    expect(node.pool.get(hash)).toBeDefined()
    expect(await client.request('eth_getTransactionByHash', [hash])).toMatchObject({ hash, blockHash: null })
    for (const pending of ['pending', { blockNumber: 'pending' }]) {
      expect(Number(await client.request('eth_getTransactionCount', [DEV_ADDRESSES[1], pending]))).toBe(nonce + 1)
    }
    expect(Number(await client.request('eth_getTransactionCount', [DEV_ADDRESSES[1], 'latest']))).toBe(nonce)
    const long = `0x${'00'.repeat(300_000)}`
    await expect(client.request('eth_sendRawTransaction', [long])).rejects.toMatchObject({
      rpcCode: -32602,
      message: expect.stringContaining('524288'),
    })
    await driver.build()
  })

  it('wait for the receipt of a sent transaction, until it is mined, time is over, or the client leaves', async () => {
    const watched: AbortSignal[] = []
    const { eth_sendRawTransactionSync: send } = node.methods
    node.methods.eth_sendRawTransactionSync = (params, context) => {
      watched.push(context.signal)
      return send?.(params, context)
    }
    await using started = await start()
    const client = started.client()
    const next = Number(await client.request('eth_getTransactionCount', [DEV_ADDRESSES[1], 'pending']))
    const [first, second, third] = [0, 1, 2].map((step) =>
      signTransaction(DEV_KEYS[1], { nonce: next + step, to: NOBODY, gasLimit: 21_000n }),
    ) as [SignedTransaction, SignedTransaction, SignedTransaction]
    const receipt = client.request('eth_sendRawTransactionSync', [toHex(first.raw)])
    await until(() => node.pool.get(first.hash))
    // A block without the transaction does not end the wait.
    await driver.build({ noTxPool: true })
    await driver.build()
    expect(await receipt).toEqual(await client.request('eth_getTransactionReceipt', [first.hash]))
    expect(await receipt).toMatchObject({ transactionHash: first.hash, status: '0x1' })

    let isOver = false
    const refused = client.request('eth_sendRawTransactionSync', [toHex(second.raw), '0x1']).catch((error: unknown) => {
      isOver = true
      return error
    })
    await until(async () => {
      await clock.advance(1)
      return isOver
    })
    expect(await refused).toMatchObject({
      rpcCode: 4,
      message: "The transaction was added to the transaction pool but wasn't processed in 0.001s",
      data: second.hash,
    })
    await expect(client.request('eth_sendRawTransactionSync', [toHex(second.raw)])).rejects.toThrow('already known')

    const leaving = new AbortController()
    const left = client.request('eth_sendRawTransactionSync', [toHex(third.raw)], { signal: leaving.signal })
    await until(() => node.pool.get(third.hash))
    expect(watched.map(({ aborted }) => aborted)).toEqual([false, false, false, false])
    leaving.abort()
    await expect(left).rejects.toThrow()
    await until(() => watched.at(-1)?.aborted)
    node.methods.eth_sendRawTransactionSync = send as RpcHandler
    await driver.build()
  })

  it('stream the content of a pool of any size, as fast as it is read', async () => {
    await using started = await start()
    const client = started.client()
    const hashes = new Set<Hex>()
    const data = new Uint8Array(120_000).fill(1)
    for (const account of [1, 2] as const) {
      const first = Number(await client.request('eth_getTransactionCount', [DEV_ADDRESSES[account], 'pending']))
      // After a nonce gap that the other tests cannot fill, in any order, so that no block includes them.
      for (let nonce = first + 100; nonce < first + 160; nonce++) {
        const transaction = signTransaction(DEV_KEYS[account], { nonce, gasLimit: 6_000_000n, to: NOBODY, data })
        await node.pool.add(transaction)
        hashes.add(transaction.hash)
      }
    }
    const body = '{"jsonrpc":"2.0","id":7,"method":"txpool_content","params":[]}'
    const headers = { 'content-type': 'application/json' }
    const text = await (await fetch(started.url, { method: 'POST', headers, body })).text()
    // An answer that is built before it is sent would be too long.
    expect(text.length).toBeGreaterThan(25_000_000)
    const { id, result } = JSON.parse(text)
    expect(id).toBe(7)
    const senders: Record<string, { hash: Hex }>[] = Object.values(result.queued)
    expect(new Set(senders.flatMap((byNonce) => Object.values(byNonce)).map(({ hash }) => hash))).toEqual(hashes)
    await expect(client.request('txpool_contentFrom', ['rubbish'])).rejects.toMatchObject({
      rpcCode: -32602,
      message: expect.stringContaining('address'),
    })
  })

  it('share filters, whichever process is polled', async () => {
    await using started = await start({ workers: 2 })
    const [first, second] = [started.client(), started.client()]
    const filter = await first.request('eth_newFilter', [{ fromBlock: '0x0' }])
    const blocks = await first.request('eth_newBlockFilter', [])
    const head = await driver.build()
    expect(await second.request('eth_getFilterChanges', [blocks])).toEqual([head.blockHash])
    const logs = await second.request('eth_getFilterLogs', [filter])
    expect(logs).toEqual(await node.eth.request('eth_getLogs', [{ fromBlock: '0x0' }]))
    expect(logs).not.toEqual([])
    expect(started.processes.stats()).toMatchObject({ processes: 2 })
  })

  it('notify their subscribers of heads and pool transactions', async () => {
    await using started = await start()
    const live = createPublicClient({
      transport: webSocket(started.url.replace('http', 'ws'), { reconnect: false, timeout: WAIT_LIMIT_MS }),
    })
    const seen: string[] = []
    await live.transport.subscribe({
      params: ['newHeads'],
      onData: ({ result }) => void seen.push(result.hash),
    })
    await live.transport.subscribe({
      params: ['newPendingTransactions'],
      onData: ({ result }) => void seen.push(result),
    })
    const nonce = Number(await node.eth.request('eth_getTransactionCount', [DEV_ADDRESSES[2], 'latest']))
    const { raw, hash } = signTransaction(DEV_KEYS[2], { nonce, to: NOBODY, gasLimit: 21_000n })
    await node.eth.request('eth_sendRawTransaction', [toHex(raw)])
    const head = await driver.build()
    await expect.poll(() => seen).toEqual([hash, head.blockHash])
    await (await live.transport.getRpcClient()).close()
  })

  it('notify their subscribers of logs that a move of the head to its parent removes', async () => {
    await using started = await start()
    const live = createPublicClient({
      transport: webSocket(started.url.replace('http', 'ws'), { reconnect: false, timeout: WAIT_LIMIT_MS }),
    })
    const seen: { transactionHash: Hex; removed: boolean }[] = []
    await live.transport.subscribe({ params: ['logs', {}], onData: ({ result }) => void seen.push(result) })
    const before = node.chain.head()
    const nonce = Number(await node.eth.request('eth_getTransactionCount', [DEV_ADDRESSES[2], 'latest']))
    const { raw, hash } = signTransaction(DEV_KEYS[2], { nonce, to: null, data: BUSY, gasLimit: 200_000n })
    await driver.build({ transactions: [raw], noTxPool: true })
    const left = node.chain.head()
    await until(() => seen.length === 1)
    await driver.setHead(before.hash)
    await until(() => seen.length === 2)
    expect(seen).toMatchObject([
      { transactionHash: hash, removed: false },
      { transactionHash: hash, removed: true },
    ])
    await driver.setHead(left.hash)
    await (await live.transport.getRpcClient()).close()
  })

  it('end calls at their time limit, and answer other calls meanwhile', async () => {
    await using started = await start({ evmTimeoutMs: 300 })
    const client = started.client()
    await client.request('eth_chainId', [])
    // An endless loop, and 4,000,000,000 rounds of BLAKE2F, without a gas limit.
    for (const code of [ENDLESS, '0x63ee6b280060e01b5f525f5f60d55f60095afa00'] as const) {
      const [ended, other] = await Promise.allSettled([
        client.request('eth_call', endless(code)),
        started.client().request('eth_chainId', []),
      ])
      expect(ended).toMatchObject({ reason: { message: 'execution aborted (timeout = 0.3s)' } })
      expect(other).toMatchObject({ status: 'fulfilled' })
    }
    const [call = null, , overrides = null] = endless()
    const trace = (timeout: JsonValue) =>
      client.request('debug_traceCall', [call, 'latest', { tracer: 'callTracer', stateOverrides: overrides, timeout }])
    await expect(trace('50ms')).rejects.toThrow('execution aborted (timeout = 0.05s)')
    await expect(trace('soon')).rejects.toMatchObject({
      rpcCode: -32602,
      message: expect.stringContaining('"timeout"'),
    })
  })

  it('are replaced when they end, while the others go on', async () => {
    await using started = await start({ workers: 2 })
    const clients = [started.client(), started.client()]
    const before = await Promise.all(clients.map((client) => client.request('admin_nodeInfo', [])))
    expect(started.processes.stats()).toMatchObject({ processes: 2 })
    const [killed] = started.processes.pids()
    process.kill(killed ?? 0, 'SIGKILL')
    await expect.poll(() => started.processes.stats()).toMatchObject({ processes: 1, broken: 1 })
    // The client opens idle connections again.
    expect(await Promise.all(clients.map((client) => client.request('admin_nodeInfo', [])))).toEqual(before)
    expect(started.processes.stats()).toMatchObject({ processes: 2, broken: 1 })
  })

  it('end a minute after their last connection, and start again with the next', async () => {
    const clock = new ManualClock()
    await using started = await start({ clock })
    const client = started.client()
    await client.request('eth_chainId', [])
    const [pid = 0] = started.processes.pids()
    await clock.advance(50_000)
    // The process sends a message, so it does not count as stuck.
    await started.processes.report()
    await clock.advance(50_000)
    expect(started.processes.pids()).toEqual([pid])
    await client.close()
    await expect.poll(() => started.processes.stats()).toMatchObject({ processes: 1, connections: 0 })
    await clock.advance(50_000)
    expect(started.processes.pids()).toEqual([pid])
    // It ends although it hangs.
    process.kill(pid, 'SIGSTOP')
    await clock.advance(40_000)
    expect(started.processes.stats()).toEqual({ processes: 0, connections: 0, broken: 0 })
    await expect.poll(() => isAlive(pid)).toBe(false)
    expect(await started.client().request('eth_chainId', [])).toBe(toQuantity(node.chain.config.chainId))
    expect(started.processes.stats()).toMatchObject({ processes: 1, broken: 0 })
  })

  it('live on after a pause of the machine, and are killed after three unanswered messages', async () => {
    const clock = new ManualClock()
    let pausedMs = 0
    await using started = await start({
      clock: {
        now: () => clock.now() + pausedMs,
        setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs),
      },
    })
    await started.client().request('eth_chainId', [])
    const [pid = 0] = started.processes.pids()
    pausedMs = 90_000
    await clock.advance(20_000)
    await started.client().request('eth_chainId', [])
    expect(started.processes.pids()).toEqual([pid])
    // Messages are answered in order: none is left.
    await started.processes.report()
    process.kill(pid, 'SIGSTOP')
    await clock.advance(60_000)
    expect(isAlive(pid)).toBe(true)
    await clock.advance(20_000)
    await until(() => !isAlive(pid))
  })

  it('close the waiting connections after repeated failed starts', async () => {
    await using started = await start({ file: new URL('./testUtils/faultyProcess.ts', import.meta.url) })
    const socket = connect(started.port, '127.0.0.1')
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('close', resolve))
    expect(started.processes.stats()).toEqual({ processes: 0, connections: 0, broken: 4 })
  })

  it('refuse to listen if their labels file cannot be created', async () => {
    // An existing directory, but without `geth`.
    const datadir = import.meta.dirname
    await expect(serveNode({ ...node, datadir })).rejects.toThrow(errorWith('usage', join(datadir, 'geth', 'labels-')))
  })

  it('answer /readyz by the age of their head', async () => {
    const http = { methods: [], version: 'v1', readyAgeS: 60 }
    await using started = await start({ ports: { http: { http } } })
    const response = await fetch(`${started.url}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ ready: false, head: node.chain.head().number })
  })

  it('report counts of the calls that they have answered, once, without names that clients choose', async () => {
    await using started = await start({ workers: 2 })
    const client = started.client()
    await client.request('eth_chainId', [])
    await started.client().request('eth_chainId', [])
    await expect(client.request('eth_getBalance', ['rubbish'])).rejects.toThrow()
    for (const name of ['eth_a', 'eth_b']) {
      await expect(client.request(name, [])).rejects.toThrow('does not exist')
    }
    const report = await started.processes.report()
    expect(report.calls).toMatchObject({
      eth_chainId: { outcomes: { success: 2, failure: 0 } },
      eth_getBalance: { outcomes: { success: 0, failure: 1 } },
      unknown: { outcomes: { success: 0, failure: 2 } },
    })
    expect(Object.keys(report.calls)).toHaveLength(3)
    expect(report).toMatchObject({ running: 0, waiting: 0, webSockets: 0 })
    expect((await started.processes.report()).calls).toEqual({})
  })

  it('are missing in a report that they do not answer in time, and their calls count in the next one', async () => {
    const clock = new ManualClock()
    await using started = await start({ clock })
    await started.client().request('eth_chainId', [])
    const [pid = 0] = started.processes.pids()
    process.kill(pid, 'SIGSTOP')
    const report = started.processes.report()
    await clock.advance(2_000)
    process.kill(pid, 'SIGCONT')
    expect((await report).calls).toEqual({})
    expect((await started.processes.report()).calls).toMatchObject({ eth_chainId: { outcomes: { success: 1 } } })
  })

  it('end with the engine process, and close their connections', async () => {
    const started = await start()
    await started.client().request('eth_chainId', [])
    const [pid = 0] = started.processes.pids()
    await started[Symbol.asyncDispose]()
    expect(isAlive(pid)).toBe(false)
  })
})
