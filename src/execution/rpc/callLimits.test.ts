import { expect, it } from 'vitest'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import { withTimeLimits } from './callLimits.ts'

const until: RpcHandler = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
const contextOf = (signal = new AbortController().signal) => ({ signal, isOver: () => signal.aborted })

it('methods that execute code end at their time, in the words of geth', async () => {
  const limited = withTimeLimits(
    { eth_call: until, debug_traceCall: until, eth_getLogs: () => 7 },
    { evmTimeoutMs: 20 },
  )
  await expect(limited.eth_call?.([], contextOf())).rejects.toThrow('execution aborted (timeout = 0.02s)')
  await expect(limited.debug_traceCall?.([{}, { timeout: '30ms' }], contextOf())).rejects.toThrow('(timeout = 0.03s)')
  await expect(limited.debug_traceCall?.([{}, { timeout: 'soon' }], contextOf())).rejects.toThrow(
    'trace option "timeout": expected a duration',
  )
  expect(limited.eth_getLogs?.([], contextOf())).toBe(7)
})

it('they end with their client, at any time that is allowed', async () => {
  for (const evmTimeoutMs of [0, 3_600_000]) {
    const client = new AbortController()
    const answer = withTimeLimits({ eth_call: until }, { evmTimeoutMs }).eth_call?.([], contextOf(client.signal))
    client.abort(new Error('gone'))
    await expect(answer).rejects.toThrow('gone')
  }
})
