import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { BlockDriver } from '../src/execution/testUtils/blockDriver.ts'
import { startExecutionNode } from '../src/execution/testUtils/executionNode.ts'
import { pairingLoop } from '../src/execution/testUtils/pairingLoop.ts'
import { loadRecordedRpc } from '../src/execution/testUtils/recordedRpc.ts'
import { serveNode } from '../src/execution/testUtils/servedNode.ts'
import {
  DEV_KEYS,
  signAuthorization,
  signSetCode,
  signTransaction,
} from '../src/execution/testUtils/signTransaction.ts'
import { RpcTransportError } from '../src/jsonRpc/client.ts'
import { createWebSocketRpcClient } from '../src/jsonRpc/webSocketClient.ts'
import { systemClock } from '../src/lib/clock.ts'
import { fromHex, type Hex, toHex } from '../src/lib/hex.ts'
import { watchLoop } from './loopWatch.ts'

// How long clients of RPC processes can block the engine process. The figure is its longest event loop iteration, in processor
// time, for each kind of request. Another process keeps four requests in flight. Blocks have 600 transfers. One block has a
// transaction with 5,000 logs, and one has a loop that uses all its gas. The garbage collector has the program's limits.
// Run: npm run bench:held-loop [SECONDS_EACH [NAME]]. NAME selects kinds whose name contains it.

const TARGET_MS = 20
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
const MANY_LOGS = fromHex('0x6113885b60006000a060019003806003575000')
const AT_A_TIME = 4

const [what, url = '', wsUrl = ''] = process.argv.slice(2)
if (what === 'client') await beClient(url)
else await measureAll(Number(what ?? '4'), url)

async function measureAll(secondsEach: number, only: string): Promise<void> {
  const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
  const node = await startExecutionNode(genesis, { clock: systemClock })
  await using served = await serveNode(node, { evmTimeoutMs: 1_000 })
  const driver = new BlockDriver(node.engine, rollup)
  let nonce = 0
  const sign = (fields: Parameters<typeof signTransaction>[1]) => {
    return signTransaction(DEV_KEYS[0], { nonce: nonce++, gasLimit: 21_000n, to: NOBODY, ...fields })
  }
  const logs = sign({ to: null, data: MANY_LOGS, gasLimit: 4_000_000n })
  const loop = sign({ to: null, data: fromHex('0x5b600056'), gasLimit: 4_000_000n })
  await driver.build({ transactions: [logs.raw, loop.raw], noTxPool: true })
  for (let block = 0; block < 6; block++) {
    await driver.build({ transactions: Array.from({ length: 600 }, () => sign({ value: 1n }).raw), noTxPool: true })
  }
  for (let queued = 0; queued < 1_200; queued++) {
    const data = new Uint8Array(120_000)
    await node.pool.add(signTransaction(DEV_KEYS[1], { nonce: queued, gasLimit: 600_000n, to: NOBODY, data }))
  }
  const entry = signAuthorization(DEV_KEYS[1], { address: NOBODY })
  const setCode = toHex(
    signSetCode(
      DEV_KEYS[2],
      Array.from({ length: 1_250 }, () => entry),
    ),
  )
  const simulated = {
    stateOverrides: { [NOBODY]: { code: '0x5b600056' } },
    calls: Array.from({ length: 4 }, () => ({ to: NOBODY, gas: '0x500000' })),
  }
  const head = node.chain.head()
  const transfer = (await node.chain.blockByHash(head.hash))?.transactions.at(-1)?.hash
  const overridden = (code: Hex) => [{ to: NOBODY, gas: '0xffffffff' }, 'latest', { [NOBODY]: { code } }]
  const large: Hex = `0x${'00'.repeat(2_440_000)}`
  const words = Array.from({ length: 1_000 }, (_, index): Hex => `0x${index.toString(16).padStart(64, '0')}`)
  const full = { method: 'eth_getBlockByNumber', params: ['latest', true] }
  const small = { method: 'eth_call', params: [{ to: NOBODY }, 'latest'] }
  const calls: [string, object | object[]][] = [
    ['small calls', small],
    ['endless calls', { method: 'eth_call', params: overridden('0x5b600056') }],
    ['calls that hash', { method: 'eth_call', params: overridden('0x5b6210000060002050600056') }],
    ['calls that hash 4.9 MB at once', { method: 'eth_call', params: overridden('0x5b624ac4a05f2050600056') }],
    ['calls of SHA256 of 4.5 MB', { method: 'eth_call', params: overridden('0x5f5f6244aa205f60025afa00') }],
    ['calls of RIPEMD160 of 3.9 MB', { method: 'eth_call', params: overridden('0x5f5f623b82605f60035afa00') }],
    ['calls that return 4.9 MB', { method: 'eth_call', params: overridden('0x624ac4a05ff3') }],
    [
      'calls of calls with 4 MiB',
      { method: 'eth_call', params: overridden('0x5f623fffe0525b5f5f624000005f61dead5afa50600656') },
    ],
    [
      'calls that store words alike below bit 64',
      { method: 'eth_call', params: overridden('0x5f5b600101808060401b5d600156') },
    ],
    ['calls of BLAKE2F', { method: 'eth_call', params: overridden('0x63ee6b280060e01b5f525f5f60d55f60095afa00') }],
    ['calls of pairings', { method: 'eth_call', params: overridden(pairingLoop()) }],
    ['calls of creations', { method: 'eth_call', params: overridden('0x5b61c0005f5ff0505f56') }],
    ['estimates', { method: 'eth_estimateGas', params: overridden('0x5b600056') }],
    ['access lists', { method: 'eth_createAccessList', params: overridden('0x5f5b8054506001016001565b00') }],
    ['whole blocks', full],
    ['receipts of blocks', { method: 'eth_getBlockReceipts', params: ['latest'] }],
    ['receipts', { method: 'eth_getTransactionReceipt', params: [transfer] }],
    ['transactions', { method: 'eth_getTransactionByHash', params: [transfer] }],
    ['raw blocks', { method: 'debug_getRawBlock', params: ['latest'] }],
    ['logs', { method: 'eth_getLogs', params: [{ fromBlock: '0x0' }] }],
    ['fee history', { method: 'eth_feeHistory', params: ['0x400', 'latest', [10, 50, 90]] }],
    ['proofs of 1,000 slots', { method: 'eth_getProof', params: [NOBODY, words, 'latest'] }],
    ['traces', { method: 'debug_traceTransaction', params: [loop.hash] }],
    ['traces of blocks', { method: 'debug_traceBlockByNumber', params: ['latest', { tracer: 'callTracer' }] }],
    ['batches of 1,000 blocks', Array.from({ length: 1_000 }, () => full)],
    ['batches of 1,000 calls', Array.from({ length: 1_000 }, () => small)],
    ['bodies of 4.9 MB', { method: 'eth_call', params: [{ to: NOBODY, data: large }] }],
    ['simulations', { method: 'eth_simulateV1', params: [{ blockStateCalls: [simulated, simulated] }, 'latest'] }],
    ['a full pool', { method: 'txpool_content', params: [] }],
    ['transactions of 1,250 authorizations', { method: 'eth_sendRawTransaction', params: [setCode] }],
    [
      'WebSocket messages of 4.9 MB',
      { method: 'eth_call', params: [{ to: NOBODY, data: large }], overWebSocket: true },
    ],
    ['bodies of 4.9 MB that nobody knows', { method: 'eth_nonsense', params: [large] }],
  ]
  const child = fork(fileURLToPath(import.meta.url), ['client', served.url, served.url.replace('http', 'ws')], {
    execArgv: process.execArgv,
    serialization: 'advanced',
  })
  let isDone = false
  child.once('exit', (code) => {
    if (!isDone) process.exit(code || 1)
  })
  const iterations = watchLoop()
  let longest = 0
  for (const [name, body] of calls) {
    if (!name.includes(only)) continue
    const answered = new Promise<unknown>((resolve) => child.once('message', resolve))
    // Warm-up: compilation at the first requests does not count.
    child.send({ body, milliseconds: 1_000 })
    await answered
    const counted = new Promise<unknown>((resolve) => child.once('message', resolve))
    iterations.reset()
    child.send({ body, milliseconds: secondsEach * 1_000 })
    const count = await counted
    longest = Math.max(longest, iterations.longest())
    console.log(
      `${name}: ${count} in ${secondsEach} s, longest turn ${iterations.longest().toFixed(1)} ms, 999 of 1,000 ${iterations.quantile(0.999).toFixed(1)} ms`,
    )
  }
  iterations.stop()
  isDone = true
  child.kill()
  await node.close()
  console.log(`longest turn of all: ${longest.toFixed(1)} ms (target ${TARGET_MS})`)
  process.exitCode = longest <= TARGET_MS ? 0 : 1
}

async function beClient(nodeUrl: string): Promise<void> {
  const socket = createWebSocketRpcClient({ url: wsUrl })
  for (;;) {
    const { body, milliseconds } = await new Promise<{ body: Call | Call[]; milliseconds: number }>((resolve) => {
      process.once('message', (message) => resolve(message as { body: Call | Call[]; milliseconds: number }))
    })
    const endsAt = performance.now() + milliseconds
    let count = 0
    const one = async (): Promise<void> => {
      while (performance.now() < endsAt) {
        if (Array.isArray(body) || !body.overWebSocket) await post(nodeUrl, body)
        // Many requests are refused, as intended. None may be lost.
        else await socket.request(body.method, body.params).catch(throwLost)
        count += 1
      }
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, one))
    process.send?.(count)
  }
}

/** The response is not parsed: parsing 290 MB of JSON would compete with the node for processor time. */
async function post(url: string, body: Call | Call[]): Promise<void> {
  const calls = [body].flat().map(({ method, params }) => ({ jsonrpc: '2.0', id: 1, method, params }))
  const text = JSON.stringify(Array.isArray(body) ? calls : calls[0])
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
  await response.body?.pipeTo(new WritableStream())
}

function throwLost(error: unknown): void {
  if (error instanceof RpcTransportError) throw error
}

interface Call {
  method: string
  params: unknown[]
  overWebSocket?: boolean
}
