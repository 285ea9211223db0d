import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { create2Address } from '../evm/interpreter/calls.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'
import { AnswerBudget } from './answerBudget.ts'
import { PrestateTracer } from './prestateTracer.ts'

// test/interop/opGethRpc.test.ts compares the tracers with a real op-geth.

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
const [SENDER] = DEV_ADDRESSES
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
/** Calls the identity precompile with 2 wei, logs, stores 7 in slot 5, and reverts an inner creation. */
const CODE = fromHex('0x5f5f5f5f600260045af1505f5fa06007600555625f5ffd5f526003601d5ff050')

let node: ExecutionNode
let hash: Hex

beforeAll(async () => {
  node = await startExecutionNode(holocene.genesis)
  const transaction = signTransaction(DEV_KEYS[0], { to: null, data: CODE, value: 10n, gasLimit: 300_000n })
  await node.eth.request('eth_sendRawTransaction', [toHex(transaction.raw)])
  await new BlockDriver(node.engine, holocene.rollup).build()
  hash = transaction.hash
})

afterAll(() => node.close())

const trace = (options: unknown) => node.eth.request('debug_traceTransaction', [hash, options])

describe('callTracer', () => {
  it('traces calls, a failed creation, and logs', async () => {
    const receipt = await node.eth.request('eth_getTransactionReceipt', [hash])
    expect(await trace({ tracer: 'callTracer', tracerConfig: { withLog: true } })).toMatchObject({
      type: 'CREATE',
      from: SENDER,
      gas: '0x493e0',
      gasUsed: (receipt as { gasUsed: string }).gasUsed,
      value: '0xa',
      calls: [
        { type: 'CALL', to: '0x0000000000000000000000000000000000000004', value: '0x2', input: '0x' },
        { type: 'CREATE', input: '0x5f5ffd', error: 'execution reverted' },
      ],
      logs: [{ topics: [], data: '0x', position: '0x1', index: '0x0' }],
    })
    expect(await trace({ tracer: 'callTracer', tracerConfig: { onlyTopCall: true } })).not.toHaveProperty('calls')
  })

  it('traces simulated calls with state overrides', async () => {
    const config = { tracer: 'callTracer', stateOverrides: { [NOBODY]: { code: '0x5f5f5f5f6001335af1' } } }
    const call = { from: SENDER, to: NOBODY, gas: '0x30000' }
    expect(await node.eth.request('debug_traceCall', [call, 'latest', config])).toMatchObject({
      to: NOBODY,
      calls: [{ type: 'CALL', to: SENDER, value: '0x1', error: 'insufficient balance for transfer' }],
    })
  })
})

describe('prestateTracer', () => {
  it('returns the state before, and the changes', async () => {
    const pre = (await trace({ tracer: 'prestateTracer' })) as Record<Hex, { balance: string; nonce?: number }>
    const before = await node.eth.request('eth_getBalance', [SENDER, 'earliest'])
    expect(pre[SENDER]).toEqual({ balance: before })
    const diff = await trace({ tracer: 'prestateTracer', tracerConfig: { diffMode: true } })
    const after = await node.eth.request('eth_getBalance', [SENDER, 'latest'])
    const made = (await node.chain.receipts(node.chain.head().hash))?.at(-1)?.contractAddress ?? ''
    expect(diff).toMatchObject({
      pre: { [SENDER]: { balance: before } },
      post: {
        [SENDER]: { balance: after, nonce: 1 },
        [made]: { balance: '0x8', nonce: 2, storage: { [`0x${'5'.padStart(64, '0')}`]: `0x${'7'.padStart(64, '0')}` } },
      },
    })
    expect(diff).not.toHaveProperty(['pre', made])
  })

  it('returns the accounts read before a CREATE2 whose memory is too expensive', async () => {
    // CREATE2 with init code of 2^40 bytes.
    const stateOverrides = { [NOBODY]: { code: '0x5f650100000000005f5ff5' } }
    const config = { tracer: 'prestateTracer', stateOverrides }
    const answer = await node.eth.request('debug_traceCall', [
      { from: SENDER, to: NOBODY, gas: '0x30000' },
      'latest',
      config,
    ])
    expect(answer).toHaveProperty(NOBODY)
  })

  it('shows the account that CREATE2 creates, as it was before', async () => {
    const made = create2Address(fromHex(NOBODY), 0, new Uint8Array(1))
    const stateOverrides = { [NOBODY]: { code: '0x5f60015f5ff5' }, [made]: { balance: '0x7' } }
    const config = { tracer: 'prestateTracer', stateOverrides }
    const answer = await node.eth.request('debug_traceCall', [
      { from: SENDER, to: NOBODY, gas: '0x30000' },
      'latest',
      config,
    ])
    expect(answer).toHaveProperty(made, { balance: '0x7' })
  })
})

it('traces every transaction of a block given by number, hash or encoding', async () => {
  const { number, hash: blockHash } = node.chain.head()
  const byNumber = await node.eth.request('debug_traceBlockByNumber', [
    `0x${number.toString(16)}`,
    { tracer: 'callTracer' },
  ])
  expect(byNumber).toMatchObject([{ result: { type: 'CALL' } }, { txHash: hash, result: { type: 'CREATE' } }])
  expect(await node.eth.request('debug_traceBlockByHash', [blockHash, { tracer: 'callTracer' }])).toEqual(byNumber)
  const encoded = await node.eth.request('debug_getRawBlock', ['latest'])
  expect(await node.eth.request('debug_traceBlock', [encoded, { tracer: 'callTracer' }])).toEqual(byNumber)
  const steps = await node.eth.request('debug_traceBlockByHash', [blockHash])
  expect(steps).toMatchObject([{ result: { failed: false } }, { txHash: hash, result: await trace({}) }])
  const refused = node.eth.request('debug_traceBlockByNumber', ['0x0'])
  await expect(refused).rejects.toMatchObject({ rpcCode: -32000, message: 'genesis is not traceable' })
  const damaged = node.eth.request('debug_traceBlock', [`${encoded}00`])
  await expect(damaged).rejects.toMatchObject({
    rpcCode: -32000,
    message: expect.stringMatching(/^could not decode block: /),
  })
})

describe('the limit of an answer', () => {
  it('holds for code that the prestateTracer shows', async () => {
    const place = { blockHash: node.chain.head().hash, overrides: { [NOBODY]: { code: new Uint8Array(1_000) } } }
    const options = { diffMode: false, disableCode: false, disableStorage: false, includeEmpty: false }
    const traced = (disableCode: boolean) =>
      node.chain.traceCall(
        { to: NOBODY },
        place,
        new PrestateTracer({ ...options, disableCode }, new AnswerBudget('', 2_000)),
      )
    await expect(traced(false)).rejects.toMatchObject({ rpcCode: -32005 })
    expect(await traced(true)).toHaveProperty(NOBODY)
  })

  it('allows a hundred thousand opcodes', async () => {
    // Counts down from 15,000.
    const stateOverrides = { [NOBODY]: { code: '0x62003a985b600190038060045700' } }
    const answer = await node.eth.request('debug_traceCall', [{ to: NOBODY }, 'latest', { stateOverrides }])
    const { gas, structLogs } = answer as { gas: number; structLogs: Record<string, unknown>[] }
    expect([gas, structLogs.length]).toEqual([411_003, 105_002])
    expect(structLogs.at(-1)).toMatchObject({ op: 'STOP', stack: ['0x0'] })
  })
})
