import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Pieces, StreamedJson, type WrittenJson } from '../../jsonRpc/pieces.ts'
import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { textOf } from '../../jsonRpc/testUtils/textOf.ts'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { systemClock } from '../../lib/clock.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { DEFAULT_RPC_OPTIONS } from '../rpc/index.ts'
import { createReadMethods } from '../rpc/methods/readMethods.ts'
import { offload } from '../rpc/offload.ts'
import { HURRIED } from '../rpc/pace.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'
import { type CallService, type CallServiceOptions, createCallService } from './callProcesses.ts'

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
/** Stores 7, emits a log, and calls nobody. */
const BUSY = fromHex('0x600760005560006000a060006000600060006000730000000000000000000000000000000000abcdef5af1')
const ENDLESS: Hex = '0x5b600056'
const FAULTY = new URL('./testUtils/faultyCalls.ts', import.meta.url)

let node: ExecutionNode
let mined: Hex

beforeAll(async () => {
  node = await startExecutionNode(holocene.genesis)
  const driver = new BlockDriver(node.engine, holocene.rollup)
  const { raw, hash } = signTransaction(DEV_KEYS[0], { to: null, data: BUSY, gasLimit: 200_000n })
  await node.eth.request('eth_sendRawTransaction', [toHex(raw)])
  await driver.build()
  mined = hash
})

afterAll(() => node.close())

function start(options: Partial<CallServiceOptions> = {}): CallService & AsyncDisposable {
  const service = createCallService(
    { chain: node.chain, clock: systemClock, logger: silentLogger },
    // A busy machine gives the process little time to notice anything.
    { ...DEFAULT_RPC_OPTIONS, callGasCap: 0n, graceMs: 60_000, maxProcesses: 1, ...options },
  )
  return { ...service, [Symbol.asyncDispose]: () => service.close() }
}

const contextOf = (signal = new AbortController().signal) => ({ signal, isOver: () => false })
const written = (result: WrittenJson) => JSON.parse(textOf(result.pieces))
const endless = (code: Hex = ENDLESS, gas = '0xffffffffffff') => [{ to: NOBODY, gas }, 'latest', { [NOBODY]: { code } }]

/** What the node answers to a request that another process reads. */
async function answerTo(body: JsonValue | string, url = node.url): Promise<unknown> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
  const answer = await response.text()
  return answer === '' ? undefined : JSON.parse(answer)
}

describe('large bodies', () => {
  const LARGE = '00'.repeat(140_000)

  it('are answered by a process, which asks the program for what it cannot run', async () => {
    const { raw, hash } = signTransaction(DEV_KEYS[0], { nonce: 1, to: NOBODY, gasLimit: 21_000n })
    const call = (method: string, ...params: JsonValue[]) => ({ jsonrpc: '2.0', id: method, method, params })
    const answered = (id: string, result: JsonValue) => ({ jsonrpc: '2.0', id, result })
    const failed = (id: string, code: number, message: unknown) => ({ jsonrpc: '2.0', id, error: { code, message } })
    const batch = [
      call('eth_call', { to: NOBODY, data: `0x${LARGE}` }),
      call('eth_sendRawTransaction', toHex(raw)),
      call('eth_sendRawTransaction', toHex(raw)),
      { jsonrpc: '2.0', method: 'eth_chainId', params: [] },
      call('eth_chainId'),
      call('eth_newFilter', `0x${LARGE}${LARGE}`),
      call('eth_nonsense', LARGE),
      7,
    ]
    expect(await answerTo(batch)).toEqual([
      answered('eth_call', '0x'),
      answered('eth_sendRawTransaction', hash),
      failed('eth_sendRawTransaction', -32000, 'already known'),
      answered('eth_chainId', toQuantity(node.chain.config.chainId)),
      failed('eth_newFilter', -32602, expect.stringContaining('expected at most 524288 characters, got 560')),
      failed('eth_nonsense', -32601, expect.stringContaining('does not exist')),
      { jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.stringContaining('expected an object') } },
    ])
    expect(node.pool.get(hash)).toBeDefined()
    expect(await answerTo(`[${LARGE}`.repeat(2))).toMatchObject({ id: null, error: { code: -32700 } })
    expect(await answerTo({ jsonrpc: '2.0', method: 'eth_nonsense', params: [LARGE] })).toBeUndefined()
  })

  it('are no way past the time of calls', async () => {
    await using calls = start({ evmTimeoutMs: 300 })
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: endless() }
    const served = { methods: ['eth_call'], maxBatchSize: 10 }
    const answer = await calls.answerBody(Buffer.from(JSON.stringify(body)), contextOf(), { handle }, served)
    expect(JSON.parse(textOf(answer ?? []))).toMatchObject({
      id: 1,
      error: { code: -32000, message: 'execution aborted (timeout = 0.3s)' },
    })
    const client = new AbortController()
    const gone = calls.answerBody(Buffer.from(JSON.stringify(body)), contextOf(client.signal), { handle }, served)
    client.abort(new Error('gone'))
    expect(JSON.parse(textOf((await gone) ?? []))).toMatchObject({ id: null, error: { code: -32603 } })
  })

  it('are answered as a whole, though what the program is asked for could be sent in parts', async () => {
    await using calls = start({})
    const parts: Pieces[] = []
    const context = { ...contextOf(), sendPart: async (part: Pieces) => void parts.push(part) }
    const PART = 'x'.repeat(100_000)
    async function* pieces() {
      yield '["'
      for (let part = 0; part < 10; part++) yield PART
      yield '"]'
    }
    const methods = new Map([['list', () => new StreamedJson(pieces())]])
    const body = [{ jsonrpc: '2.0', id: 7, method: 'list', params: [] }]
    const served = { methods: ['list'], maxBatchSize: 10 }
    const dispatcher = createRpcDispatcher({ methods })
    const answer = await calls.answerBody(Buffer.from(JSON.stringify(body)), context, dispatcher, served)
    expect(JSON.parse(textOf(answer ?? []))).toEqual([{ jsonrpc: '2.0', id: 7, result: [PART.repeat(10)] }])
    expect(parts).toEqual([])
  })

  it('are not run twice when the program has done a part of them', async () => {
    await using calls = start({ file: FAULTY })
    let asked = 0
    const dispatcher = {
      async handle() {
        asked += 1
        return ['{}']
      },
    }
    const answer = await calls.answerBody(new Uint8Array(1), contextOf(), dispatcher, { methods: [], maxBatchSize: 1 })
    expect(textOf(answer ?? [])).toMatch(/could not be run to its end: .*code 3/)
    expect(asked).toBe(1)
  })
})

const handle = () => Promise.reject(new Error('nothing was to be asked'))

describe('calls in another process', () => {
  it('are answered as they are here, from the same chain', async () => {
    await using calls = start()
    const here = createReadMethods(node.chain, { ...DEFAULT_RPC_OPTIONS, callGasCap: 0n })
    const asked: [string, ...JsonValue[]][] = [
      ['eth_call', { to: NOBODY, data: '0x' }, 'latest'],
      ['eth_estimateGas', { from: DEV_ADDRESSES[0], to: NOBODY, value: '0x1' }],
      ['eth_createAccessList', { from: DEV_ADDRESSES[0], data: toHex(BUSY) }],
      ['eth_getLogs', { fromBlock: '0x0' }],
      ['eth_getBlockByNumber', 'latest', true],
      ['eth_getTransactionReceipt', mined],
      ['eth_getProof', DEV_ADDRESSES[0], ['0x0'], 'latest'],
      ['eth_feeHistory', '0x2', 'latest', [50]],
      ['debug_traceTransaction', mined],
    ]
    for (const [method, ...params] of asked) {
      const theirs = written(await calls.run(method, params, contextOf()))
      const mine = JSON.parse(JSON.stringify(await here[method]?.(params, contextOf())))
      expect(theirs, method).toEqual(mine)
    }
    for (const code of ['0x5f5ffd', '0xfe'] as const) {
      const params = [{ to: NOBODY }, 'latest', { [NOBODY]: { code } }]
      const mine = await Promise.resolve(here.eth_call?.(params, contextOf())).catch((error: unknown) => error)
      await expect(calls.run('eth_call', params, contextOf())).rejects.toEqual(mine)
    }
  })

  it('take what is not short on the chain’s own loop, and end at their time, in the words of geth', async () => {
    await using calls = start()
    const options = { ...DEFAULT_RPC_OPTIONS, callGasCap: 0n, evmTimeoutMs: 300 }
    const methods = offload(createReadMethods(node.chain, options, HURRIED), calls, options)
    // An endless loop, and 4,000,000,000 rounds of BLAKE2F, with no gas to count.
    const codes: Hex[] = [ENDLESS, '0x63ee6b280060e01b5f525f5f60d55f60095afa00']
    for (const method of ['eth_call', 'eth_estimateGas', 'eth_createAccessList']) {
      // An estimate has no more gas than a block.
      for (const code of method === 'eth_estimateGas' ? codes.slice(0, 1) : codes) {
        const answer = methods[method]?.(endless(code), contextOf())
        await expect(answer).rejects.toThrow('execution aborted (timeout = 0.3s)')
      }
    }
    const [call = null, , overrides = null] = endless()
    const trace = async (timeout: JsonValue) =>
      methods.debug_traceCall?.(
        [call, 'latest', { tracer: 'callTracer', stateOverrides: overrides, timeout }],
        contextOf(),
      )
    await expect(trace('50ms')).rejects.toThrow('execution aborted (timeout = 0.05s)')
    await expect(trace('soon')).rejects.toThrow('trace option "timeout": expected a duration')
    // They have ended by themselves, and their process is fit for more.
    await expect.poll(() => calls.stats()).toEqual({ running: 0, waiting: 0, broken: 0 })
    expect(await methods.eth_call?.([{ to: NOBODY }], contextOf())).toBe('0x')
  })

  it('end with their client', async () => {
    await using calls = start()
    const client = new AbortController()
    const answers = Promise.allSettled(
      Array.from({ length: 20 }, () => calls.run('eth_call', endless(), contextOf(client.signal))),
    )
    expect(calls.stats()).toMatchObject({ running: 4, waiting: 16 })
    client.abort(new Error('gone'))
    for (const answer of await answers) expect(answer).toMatchObject({ reason: { message: 'gone' } })
    await expect.poll(() => calls.stats()).toEqual({ running: 0, waiting: 0, broken: 0 })
  })

  it('with large parameters run one at a time, while small ones go past them', async () => {
    await using calls = start()
    const client = new AbortController()
    const data = `0x${'00'.repeat(200_000)}`
    const large = [{ to: NOBODY, gas: '0xffffffffffff', data }, 'latest', { [NOBODY]: { code: ENDLESS } }]
    const answers = Promise.allSettled(
      [large, large, endless()].map((params) => calls.run('eth_call', params, contextOf(client.signal))),
    )
    expect(calls.stats()).toMatchObject({ running: 2, waiting: 1 })
    client.abort(new Error('gone'))
    await answers
    const short = [0, 1].map(() => calls.run('eth_call', [{ to: NOBODY, data }], contextOf()))
    for (const answer of await Promise.all(short)) expect(written(answer)).toBe('0x')
  })

  it('of methods that gather much run one at a time, too', async () => {
    await using calls = start()
    const client = new AbortController()
    const params = endless(ENDLESS, '0xffffffffffff')
    const traced = [params[0] ?? null, 'latest', { tracer: 'callTracer', stateOverrides: params[2] ?? null }]
    const run = (method: string, given: JsonValue[]) => calls.run(method, given, contextOf(client.signal))
    const answers = Promise.allSettled([
      run('debug_traceCall', traced),
      run('debug_traceCall', traced),
      run('eth_call', endless()),
    ])
    expect(calls.stats()).toMatchObject({ running: 2, waiting: 1 })
    client.abort(new Error('gone'))
    for (const answer of await answers) expect(answer).toMatchObject({ reason: { message: 'gone' } })
  })

  it('end with the program, which starts no process for more', async () => {
    const stop = new AbortController()
    const modules = { chain: node.chain, clock: systemClock, logger: silentLogger, signal: stop.signal }
    const service = createCallService(modules, { ...DEFAULT_RPC_OPTIONS, callGasCap: 0n, maxProcesses: 1 })
    const running = service.run('eth_call', endless(), contextOf())
    const waiting = service.run('eth_call', endless(), contextOf())
    stop.abort()
    await expect(running).rejects.toThrow('the program is stopping')
    await expect(waiting).rejects.toThrow('the program is stopping')
    await expect(service.run('eth_call', endless(), contextOf())).rejects.toThrow('the program is stopping')
    await service.close()
    expect(service.stats()).toMatchObject({ waiting: 0, broken: 0 })
  })

  it('are refused when too many wait', async () => {
    await using calls = start()
    const client = new AbortController()
    const answers = Promise.allSettled(
      Array.from({ length: 260 }, () => calls.run('eth_call', endless(), contextOf(client.signal))),
    )
    await expect(calls.run('eth_call', endless(), contextOf())).rejects.toMatchObject({
      rpcCode: -32005,
      message: 'too many calls wait to be run: try again later',
    })
    client.abort(new Error('gone'))
    await answers
    const large = [{ to: NOBODY, data: `0x${'00'.repeat(17 * 1024 * 1024)}` }]
    await expect(calls.run('eth_call', large, contextOf())).rejects.toMatchObject({ rpcCode: -32005 })
  })

  it('a process that hangs is ended and replaced, and the calls beside the one that hung it run again', async () => {
    await using calls = start({ file: FAULTY, graceMs: 100 })
    const first = written(await calls.run('eth_getLogs', [], contextOf()))
    const hanging = calls.run('eth_call', [], contextOf(), 100)
    const beside = calls.run('eth_getLogs', [], contextOf())
    await expect(hanging).rejects.toThrow('execution aborted (timeout = 0.1s)')
    expect(written(await beside)).not.toBe(first)
    expect(calls.stats().broken).toBe(1)
  })

  it('a call that takes its process along twice is answered with an error', async () => {
    await using calls = start({ file: FAULTY })
    await expect(calls.run('eth_estimateGas', [], contextOf())).rejects.toThrow(/could not be run to its end: .*code 3/)
    expect(calls.stats().broken).toBe(2)
    expect(typeof written(await calls.run('eth_getLogs', [], contextOf()))).toBe('number')
  })
})
