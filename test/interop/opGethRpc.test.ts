import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BlockDriver, forkchoice } from '../../src/execution/testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../../src/execution/testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import {
  DEV_ADDRESSES,
  DEV_KEYS,
  signLegacyTransaction,
  signTransaction,
} from '../../src/execution/testUtils/signTransaction.ts'
import { createWebSocketRpcClient } from '../../src/jsonRpc/webSocketClient.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { type Call, type ComparedGeth, expectSameAnswers, startComparedGeth } from '../support/opGethAnswers.ts'

// The same chain in op-geth and in devium-geth: every call must be answered alike. Needs a binary of op-geth (1.14 or
// newer): DEVIUM_OP_GETH=/path/to/geth.
const binary = process.env.DEVIUM_OP_GETH
const title = binary === undefined ? 'as op-geth (skipped: DEVIUM_OP_GETH names no binary)' : 'as op-geth'

const recording = loadRecordedRpc('holocene-span-brotli-calldata')
const [KEY, SECOND_KEY, THIRD_KEY] = DEV_KEYS
const [SENDER, , THIRD] = DEV_ADDRESSES
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
const WORD: Hex = `0x${'42'.repeat(32)}`
const ZERO: Hex = `0x${'00'.repeat(32)}`
/** Emits one log whose topic is the first word of the call's data. */
const EMITTER = fromHex('0x6009600c60003960096000f360003560006000a100')

let geth: ComparedGeth
let ours: ExecutionNode
let emitter: Hex
let head: Hex
let directory: string
let traced: Hex[]
/** Subscription messages of both while the last blocks are built. */
let listeners: { mine: Listener; theirs: Listener } | undefined

type Received = Record<'heads' | 'logs' | 'hashes' | 'transactions', unknown[]>
interface Listener {
  received: Received
  close(): Promise<void>
}

/** Transactions with storage, memory, calls, a revert and a failure in them, mined by both. */
async function mineTraced(build: () => Promise<unknown>): Promise<Hex[]> {
  const programs = [
    // SLOAD and SSTORE of two slots, then a call of the emitter and memory.
    `6001546001016001556002546003600255600054506020600060206000600073${emitter.slice(2)}620186a0f15060aa60405260006000fd`,
    `60016000556000546000f3`,
    // A creation within, which stores and returns code.
    '6a6005600055600160005360f3600052600b6015600034f06000553b600155',
    '60fe600053600160006000f060ff60005360016000f3',
    '5b6000610fff56',
    '60056000556000600055fe',
  ]
  const hashes: Hex[] = []
  for (const [index, code] of programs.entries()) {
    const { raw, hash } = signTransaction(KEY, { nonce: 3 + index, to: null, data: fromHex(code), gasLimit: 400_000n })
    for (const client of [geth.eth, ours.eth]) await client.request('eth_sendRawTransaction', [toHex(raw)])
    hashes.push(hash)
  }
  await build()
  return hashes
}

/** Listens to all that there is to subscribe to. */
async function listen(url: string): Promise<Listener> {
  const client = createWebSocketRpcClient({ url })
  const received: Received = { heads: [], logs: [], hashes: [], transactions: [] }
  const controller = new AbortController()
  const subscribe = (list: unknown[], ...params: unknown[]) =>
    client.subscribe({ method: 'eth_subscribe', params }, (content) => list.push(content), controller.signal)
  const ended = [
    subscribe(received.heads, 'newHeads'),
    subscribe(received.logs, 'logs', {}),
    subscribe(received.hashes, 'newPendingTransactions'),
    subscribe(received.transactions, 'newPendingTransactions', true),
  ]
  // The server answers in the order of the requests.
  for (let count = 0; count < 5; count++) await client.request('eth_chainId', [])
  return {
    received,
    async close() {
      controller.abort()
      await Promise.all(ended)
      await client.close()
    },
  }
}

function expectSame(calls: readonly Call[], port: 'eth' | 'engine' = 'eth'): Promise<void> {
  return expectSameAnswers(ours[port], geth[port], calls)
}

const withCode = (code: string) => [{ to: NOBODY }, 'latest', { [NOBODY]: { code } }] as const
const callAndEstimate = (...params: unknown[]): Call[] => [
  ['eth_call', ...params],
  ['eth_estimateGas', ...params],
]

describe.skipIf(binary === undefined)(title, () => {
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'devium-op-geth-rpc-'))
    geth = await startComparedGeth(binary ?? '', directory, recording.genesis)
    ours = await startExecutionNode(recording.genesis)
    const driver = new BlockDriver(ours.engine, recording.rollup)
    const theirs = new BlockDriver(geth.engine, recording.rollup)
    const build = async () => {
      const payload = await driver.build()
      await theirs.insert(payload, undefined)
      return payload
    }
    const deploy = signTransaction(KEY, { nonce: 1, to: null, data: EMITTER, gasLimit: 200_000n })
    for (const { raw } of [signTransaction(KEY, { to: NOBODY, value: 7n }), deploy]) {
      for (const client of [geth.eth, ours.eth]) await client.request('eth_sendRawTransaction', [toHex(raw)])
    }
    await expectSame([
      ['txpool_status'],
      ['txpool_content'],
      ['txpool_inspect'],
      ['txpool_contentFrom', SENDER],
      ['eth_getTransactionCount', SENDER, 'pending'],
      ['eth_getTransactionByHash', deploy.hash],
      ['eth_getRawTransactionByHash', deploy.hash],
    ])
    await build()
    emitter = String((await ours.chain.receipts(ours.chain.head().hash))?.at(-1)?.contractAddress) as Hex
    listeners = { mine: await listen(ours.wsUrl), theirs: await listen(geth.wsUrl) }
    const emit = signTransaction(KEY, { nonce: 2, to: emitter, data: fromHex(WORD), gasLimit: 100_000n })
    const tip = signTransaction(SECOND_KEY, { to: SENDER, value: 1n, maxPriorityFeePerGas: 5_000_000n })
    for (const { raw } of [emit, tip]) {
      for (const client of [geth.eth, ours.eth]) await client.request('eth_sendRawTransaction', [toHex(raw)])
    }
    head = (await build()).blockHash as Hex
    traced = [...(await mineTraced(build)), deploy.hash, emit.hash]
    head = ours.chain.head().hash
  })

  afterAll(async () => {
    await Promise.all([listeners?.mine.close(), listeners?.theirs.close()])
    geth?.process.kill('SIGKILL')
    await Promise.all([geth?.eth.close(), geth?.engine.close(), ours?.close()])
    rmSync(directory, { recursive: true, force: true })
  })

  it('returns the same blocks by number, hash and label', async () => {
    const names = [
      '0x0',
      '0x1',
      '0x2',
      'latest',
      'pending',
      'earliest',
      'safe',
      'finalized',
      '0x99',
      'foo',
      '',
      '0x',
      5,
    ]
    for (const name of names) {
      const calls: Call[] = [true, false].map((full) => ['eth_getBlockByNumber', name, full] as const)
      const methods = ['eth_getHeaderByNumber', 'eth_getBlockReceipts', 'eth_getBlockTransactionCountByNumber']
      await expectSame([
        ...calls,
        ...[...methods, 'eth_getUncleCountByBlockNumber'].map((method): Call => [method, name]),
      ])
      await expectSame([
        ['eth_getTransactionByBlockNumberAndIndex', name, '0x1'],
        ['eth_getBalance', SENDER, name],
        ['eth_getTransactionCount', SENDER, name],
        ['eth_getCode', emitter, name],
        ['eth_getStorageAt', emitter, '0x0', name],
        ['eth_getProof', SENDER, ['0x0', WORD], name],
        ['eth_call', { to: NOBODY }, name],
        ['eth_getLogs', { fromBlock: name }],
        ['eth_feeHistory', '0x2', name, [10, 50]],
      ])
    }
    for (const hash of [head, WORD, '0x12', 'x']) {
      await expectSame([
        ['eth_getBlockByHash', hash, true],
        ['eth_getTransactionByHash', hash],
        ['eth_getTransactionByBlockHashAndIndex', hash, '0x1'],
        ['eth_getRawTransactionByBlockHashAndIndex', hash, '0x1'],
        ['eth_getBalance', SENDER, { blockHash: hash }],
        ['eth_getLogs', { blockHash: hash }],
      ])
    }
    for (const name of ['0x1', 'latest']) {
      await expectSame([
        ['eth_getRawTransactionByBlockNumberAndIndex', name, '0x0'],
        ['eth_getRawTransactionByBlockNumberAndIndex', name, '0x99'],
        ['debug_getRawHeader', name],
        ['debug_getRawBlock', name],
        ['debug_getRawReceipts', name],
      ])
    }
  })

  it('returns the same calls and estimates', async () => {
    const revert = '0x366000600037366000fd'
    const reason = `0x08c379a0${'20'.padStart(64, '0')}${'02'.padStart(64, '0')}${'6e6f'.padEnd(64, '0')}`
    const panic = `0x4e487b71${'11'.padStart(64, '0')}`
    const opcodes = ['41', '42', '43', '44', '45', '48', '4a', '3a', '5a', '46', '47', '30', '32', '33', '34']
    const priced = { from: SENDER, to: NOBODY, gasPrice: '0x77359400', gas: '0x100000' }
    const nested = `0x6000600060006000600073${emitter.slice(2)}5af160005260206000f3`
    await expectSame([
      ...callAndEstimate({}, 'latest'),
      ...callAndEstimate({ to: NOBODY, input: '0x12', data: '0x13' }, 'latest'),
      ...callAndEstimate({ to: NOBODY, gasPrice: '0x1', maxFeePerGas: '0x1' }, 'latest'),
      ...callAndEstimate({ to: NOBODY, gasPrice: '0x1' }, 'latest'),
      ...callAndEstimate({ from: NOBODY, to: SENDER, value: '0x1000' }, 'latest'),
      ...callAndEstimate({ from: SENDER, to: NOBODY, value: '0x1' }, 'latest'),
      ...callAndEstimate({ from: SENDER, to: NOBODY, value: '0x1', gas: '0x5207' }, 'latest'),
      ...callAndEstimate({ from: THIRD, to: NOBODY, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' }, 'latest'),
      ...callAndEstimate({ from: SENDER, to: emitter, data: WORD }, 'latest'),
      ...callAndEstimate({ data: '0x60006000f3' }, 'latest'),
      ...callAndEstimate({ data: '0x60ef60005360016000f3' }, 'latest'),
      ...callAndEstimate({ data: toHex(new Uint8Array(49_153)) }, 'latest'),
      ...callAndEstimate({ to: NOBODY, data: reason }, 'latest', { [NOBODY]: { code: revert } }),
      ...callAndEstimate({ to: NOBODY, data: panic }, 'latest', { [NOBODY]: { code: revert } }),
      ...callAndEstimate({ to: NOBODY, data: '0x12345678' }, 'latest', { [NOBODY]: { code: revert } }),
      ...callAndEstimate(...withCode(revert)),
      ...['0xfe', '0x0c', '0x56', '0x600056', '0x50', '0x5f5f5f'].flatMap((code) => callAndEstimate(...withCode(code))),
      ...callAndEstimate({ data: '0xef' }, 'latest'),
      ...callAndEstimate({ data: '0x60ef5f5360015ffd' }, 'latest'),
      ...callAndEstimate(...withCode(nested)),
      ...callAndEstimate(...withCode('0x60016000556000600055')),
      ...callAndEstimate(...withCode('0x600080808080335af1')),
      ...callAndEstimate(...withCode('0x600143034060005260206000f3')),
      ['eth_call', { to: NOBODY, gas: '0x186a0' }, 'latest', { [NOBODY]: { code: '0x5b600056' } }],
      ['eth_call', priced, 'latest', { [NOBODY]: { code: '0x333160005260206000f3' } }],
      ...opcodes.map((opcode): Call => ['eth_call', ...withCode(`0x${opcode}60005260206000f3`)]),
      ...['3a', '48'].map((opcode): Call => {
        return ['eth_call', priced, 'latest', { [NOBODY]: { code: `0x${opcode}60005260206000f3` } }]
      }),
      [
        'eth_call',
        { to: NOBODY },
        'latest',
        { [NOBODY]: { code: '0x60005460005260206000f3', state: { [ZERO]: WORD } } },
      ],
      [
        'eth_call',
        { to: NOBODY },
        'latest',
        { [NOBODY]: { code: '0x60005460005260206000f3', state: null, stateDiff: { [ZERO]: WORD } } },
      ],
      ['eth_call', { from: NOBODY, to: SENDER, value: '0x10' }, 'latest', { [NOBODY]: { balance: '0x100' } }],
    ])
  })

  it('refuses the same transactions, and has the same pool', async () => {
    const sends = [
      signTransaction(KEY, { nonce: 0 }).raw,
      signTransaction(THIRD_KEY, { value: 10n ** 30n }).raw,
      signTransaction(THIRD_KEY, { maxFeePerGas: 10n ** 14n }).raw,
      signLegacyTransaction(THIRD_KEY, {}).raw,
      new Uint8Array(),
      fromHex('0x01'),
      signTransaction(THIRD_KEY, { maxFeePerGas: 5n, maxPriorityFeePerGas: 6n }).raw,
      signTransaction(THIRD_KEY, { gasLimit: 20_999n }).raw,
      signTransaction(THIRD_KEY, { gasLimit: 59_930_001n, maxFeePerGas: 2n }).raw,
      signTransaction(THIRD_KEY, { to: null, data: new Uint8Array(49_153), gasLimit: 3_000_000n }).raw,
      signTransaction(THIRD_KEY, { data: new Uint8Array(132_000), gasLimit: 3_000_000n }).raw,
      signTransaction(THIRD_KEY, { nonce: 5 }).raw,
      signTransaction(THIRD_KEY, { nonce: 5 }).raw,
      signTransaction(THIRD_KEY, { nonce: 5, value: 1n }).raw,
      signTransaction(THIRD_KEY, { maxPriorityFeePerGas: 0n }).raw,
    ]
    await expectSame(sends.map((raw): Call => ['eth_sendRawTransaction', toHex(raw)]))
    await expectSame([['txpool_status'], ['txpool_content'], ['eth_getTransactionCount', THIRD, 'pending']])
  })

  it('returns the same traces', async () => {
    for (const hash of traced) {
      const variants = [{}, { enableMemory: true }, { disableStack: true, disableStorage: true }, { limit: 3 }]
      await expectSame(variants.map((options): Call => ['debug_traceTransaction', hash, options]))
    }
  })

  it('returns the same call and prestate traces', async () => {
    const configs = [
      { tracer: 'callTracer' },
      { tracer: 'callTracer', tracerConfig: { withLog: true } },
      { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
      { tracer: 'prestateTracer' },
      { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
      { tracer: 'prestateTracer', tracerConfig: { disableCode: true, disableStorage: true } },
    ]
    const encoded = await ours.eth.request('debug_getRawBlock', ['latest'])
    for (const config of configs) {
      await expectSame(traced.map((hash): Call => ['debug_traceTransaction', hash, config]))
      await expectSame([
        ['debug_traceBlockByHash', head, config],
        ['debug_traceBlock', encoded, config],
        ['debug_traceBlockByNumber', '0x1', config],
        ['debug_traceBlockByNumber', 'latest', config],
        ['debug_traceCall', { from: SENDER, to: emitter, data: WORD, gas: '0x30000' }, 'latest', config],
        ['debug_traceCall', { from: SENDER, to: NOBODY, value: '0x5', gas: '0x30000' }, '0x1', config],
        ['debug_traceCall', { from: SENDER, data: '0x60fe5f5360015ff3', gas: '0x30000' }, 'latest', config],
      ])
    }
    await expectSame([
      ['debug_traceBlockByNumber', '0x1'],
      ['debug_traceBlockByNumber', '0x0'],
      ['debug_traceBlockByNumber', '0x99'],
      ['debug_traceBlockByHash', WORD],
      ['debug_traceTransaction', WORD],
      ['debug_traceCall', { from: SENDER, to: emitter, data: WORD, gas: '0x30000' }, 'latest', {}],
    ])
    // Calls of every kind, one that nobody can pay, precompiles, a creation and a destruction.
    const nested = (kind: string, value = '') => `5f5f5f5f${value}73${emitter.slice(2)}62018000${kind}50`
    const code =
      `0x${nested('f1', '5f')}${nested('f2', '5f')}${nested('f4')}${nested('fa')}${nested('f1', '69ffffffffffffffffffff')}5f5f5f5f600161ffff f150`.replaceAll(
        ' ',
        '',
      )
    const more = '5f5f5f5f60045afa5060015f535f60015f5ff05060015f5f5ff55033ff'
    const overrides = { [NOBODY]: { code: `${code}${more}`, balance: '0x10' } }
    const call = { from: SENDER, to: NOBODY, gas: '0x90000', value: '0x3' }
    await expectSame(
      configs.map((config): Call => ['debug_traceCall', call, 'latest', { ...config, stateOverrides: overrides }]),
    )
    await expectSame([
      [
        'debug_traceCall',
        { to: NOBODY, gas: '0x30000' },
        'latest',
        { tracer: 'callTracer', stateOverrides: { [NOBODY]: { code: '0x5f5ffd' } } },
      ],
      [
        'debug_traceCall',
        { to: NOBODY, gas: '0x30000' },
        'latest',
        {
          tracer: 'callTracer',
          stateOverrides: {
            [NOBODY]: { code: '0x7f08c379a0000000000000000000000000000000000000000000000000000000005f5260205ffd' },
          },
        },
      ],
    ])
  })

  it('returns the same calls with block overrides', async () => {
    const opcodes = ['41', '42', '43', '44', '45', '48', '4a']
    const changes = {
      number: '0x123',
      time: '0x7fffffff',
      gasLimit: '0x1000',
      feeRecipient: NOBODY,
      prevRandao: WORD,
      baseFeePerGas: '0x7',
      blobBaseFee: '0x9',
      difficulty: '0x5',
    }
    for (const opcode of opcodes) {
      const code = { [NOBODY]: { code: `0x${opcode}5f5260205ff3` } }
      await expectSame([
        ['eth_call', { to: NOBODY }, 'latest', code, changes],
        ['eth_call', { from: SENDER, to: NOBODY, gasPrice: '0x77359400', gas: '0x10000' }, 'latest', code, changes],
        ['eth_estimateGas', { to: NOBODY }, 'latest', code, changes],
      ])
    }
    await expectSame([
      ['eth_call', { to: NOBODY }, 'latest', {}, { withdrawals: [] }],
      ['eth_call', { to: NOBODY }, 'latest', {}, { beaconRoot: WORD }],
      ['eth_call', { to: NOBODY }, 'latest', { [NOBODY]: { code: '0x60014303405f5260205ff3' } }, { number: '0x3' }],
    ])
  })

  it('sends subscribers the same messages', async () => {
    const { mine, theirs } = listeners ?? {}
    for (const listener of [mine, theirs]) {
      const lengths = () => Object.values(listener?.received ?? {}).map(({ length }) => length)
      await expect.poll(lengths).toEqual([2, 1, traced.length, traced.length])
    }
    // This geth tells also of the members that a header does not have, as null.
    const heads = theirs?.received.heads.map((head) =>
      Object.fromEntries(Object.entries(head ?? {}).filter(([, value]) => value !== null)),
    )
    expect(mine?.received).toEqual({ ...theirs?.received, heads })
  })

  it('returns the same logs and fees', async () => {
    const filters: unknown[] = [
      {},
      { topics: [WORD] },
      { topics: [[WORD, SENDER]] },
      { topics: [null] },
      { topics: [[]] },
    ]
    const more: unknown[] = [{ topics: 5 }, { address: 'x' }, { address: [] }, { address: [emitter] }, [], 5]
    const ranges = [
      { fromBlock: '0x2', toBlock: '0x1' },
      { fromBlock: '0x0', toBlock: '0xffff' },
      { blockHash: head, fromBlock: '0x1' },
    ]
    await expectSame([...filters, ...more, ...ranges].map((filter): Call => ['eth_getLogs', filter]))
    await expectSame([
      ['eth_chainId'],
      ['net_version'],
      ['net_peerCount'],
      ['eth_gasPrice'],
      ['eth_maxPriorityFeePerGas'],
      ['eth_blobBaseFee'],
      ['eth_syncing'],
      ['eth_accounts'],
      ['web3_sha3', '0x12'],
      ['eth_feeHistory', '0x5', 'pending', [50]],
      ['eth_feeHistory', '0x0', 'latest', []],
      ['eth_feeHistory', '0x2', 'latest', [50, 10]],
      ['eth_feeHistory', '0x2', 'latest', [101]],
      ['eth_getFilterChanges', '0x1'],
      ['eth_noSuchMethod'],
    ])
  })

  it('answers the Engine API identically', async () => {
    const { json } = await new BlockDriver(ours.engine, recording.rollup).attributes({ noTxPool: true })
    const changes = [{}, { gasLimit: null }, { withdrawals: null }, { parentBeaconBlockRoot: null }]
    const params = [{ eip1559Params: null }, { eip1559Params: '0x0000000000000001' }, { eip1559Params: '0x00' }]
    await expectSame(
      [...changes, ...params].map(
        (change): Call => ['engine_forkchoiceUpdatedV3', forkchoice(head), { ...json, ...change }],
      ),
      'engine',
    )
    await expectSame(
      [
        ['engine_forkchoiceUpdatedV1', forkchoice(head), json],
        ['engine_forkchoiceUpdatedV2', forkchoice(head), json],
        ['engine_forkchoiceUpdatedV3', forkchoice(WORD), null],
        ['engine_forkchoiceUpdatedV3', forkchoice(ZERO), null],
        ['engine_forkchoiceUpdatedV3', forkchoice(head, WORD), null],
        ['engine_forkchoiceUpdatedV3', forkchoice(head, ZERO, WORD), null],
        ['engine_getPayloadV3', '0x0300000000000000'],
        ['engine_getPayloadV3', '0x0200000000000000'],
        ['engine_getPayloadV2', '0x0300000000000000'],
        ['engine_getPayloadBodiesByHashV1', [head, WORD]],
        ['engine_getPayloadBodiesByRangeV1', '0x1', '0x5'],
      ],
      'engine',
    )
  })
})
