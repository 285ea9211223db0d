import { expect, it } from 'vitest'
import { WrittenJson } from '../../jsonRpc/bodyChunks.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import { limitCalls } from './callLimits.ts'

const until: RpcHandler = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
const contextOf = (signal = new AbortController().signal) => ({ signal, isOver: () => signal.aborted })

it("methods that execute code end at their time limit with geth's message", async () => {
  const { methods: limited } = limitCalls(
    { eth_call: until, debug_traceCall: until, eth_blockNumber: () => 7 },
    { evmTimeoutMs: 20 },
  )
  await expect(limited.eth_call?.([], contextOf())).rejects.toThrow('execution aborted (timeout = 0.02s)')
  await expect(limited.debug_traceCall?.([{}, { timeout: '30ms' }], contextOf())).rejects.toThrow('(timeout = 0.03s)')
  await expect(limited.debug_traceCall?.([{}, { timeout: 'soon' }], contextOf())).rejects.toMatchObject({
    rpcCode: -32602,
    message: expect.stringContaining('"timeout"'),
  })
  expect(limited.eth_blockNumber?.([], contextOf())).toBe(7)
})

it('methods that execute code end when their client disconnects', async () => {
  for (const evmTimeoutMs of [0, 3_600_000]) {
    const client = new AbortController()
    const { methods } = limitCalls({ eth_call: until }, { evmTimeoutMs })
    const answer = methods.eth_call?.([], contextOf(client.signal))
    client.abort(new Error('gone'))
    await expect(answer).rejects.toThrow('gone')
  }
})

it('at most four calls run at a time, at most one of them a trace, and the 257th waiting call is refused', async () => {
  const ends: (() => void)[] = []
  const held: RpcHandler = () => new Promise<void>((resolve) => ends.push(resolve))
  const { methods, stats } = limitCalls({ eth_call: held, debug_traceCall: held }, { evmTimeoutMs: 0 })
  const [first, second] = [methods.debug_traceCall?.([], contextOf()), methods.debug_traceCall?.([], contextOf())]
  expect(stats()).toEqual({ running: 1, waiting: 1 })
  const disconnected = new AbortController()
  const calls = Array.from({ length: 3 }, () => methods.eth_call?.([], contextOf()))
  const left = expect(methods.eth_call?.([], contextOf(disconnected.signal))).rejects.toThrow('gone')
  for (let count = 0; count < 254; count++) calls.push(methods.eth_call?.([], contextOf()))
  expect(stats()).toEqual({ running: 4, waiting: 256 })
  await expect(methods.eth_call?.([], contextOf())).rejects.toMatchObject({ rpcCode: -32005 })
  disconnected.abort(new Error('gone'))
  const all = Promise.all([first, second, ...calls])
  let isOver = false
  void all.then(() => {
    isOver = true
  })
  let ran = 0
  for (; !isOver; ran++) {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await left
  expect(ran).toBeGreaterThanOrEqual(259)
  expect(stats()).toEqual({ running: 0, waiting: 0 })
})

it('at most two lists of logs, receipts or transactions are collected at a time, and the 257th waiting one is refused', async () => {
  const ends: (() => void)[] = []
  const held: RpcHandler = () => new Promise<unknown>((resolve) => ends.push(() => resolve([7])))
  const { methods } = limitCalls(
    { eth_getLogs: held, eth_getBlockReceipts: held, eth_getBlockByHash: held },
    { evmTimeoutMs: 0 },
  )
  const calls = [
    methods.eth_getLogs?.([], contextOf()),
    methods.eth_getBlockReceipts?.([], contextOf()),
    methods.eth_getBlockByHash?.(['0x', true], contextOf()),
  ]
  expect(ends).toHaveLength(2)
  // Hashes of transactions are short.
  void methods.eth_getBlockByHash?.(['0x', false], contextOf())
  expect(ends).toHaveLength(3)
  for (let count = 0; count < 255; count++) calls.push(methods.eth_getLogs?.([], contextOf()))
  await expect(methods.eth_getLogs?.([], contextOf())).rejects.toMatchObject({ rpcCode: -32005 })
  ends[0]?.()
  expect(await calls[0]).toEqual(new WrittenJson(['[7]']))
  expect(ends).toHaveLength(4)
})
