import { expect, it } from 'vitest'
import { JsonRpcError } from '../jsonRpc/types.ts'
import { ManualClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { nextTurn } from '../lib/nextTurn.ts'
import { createCoalescedRpc } from './coalescedRpc.ts'
import type { LimitedRpc } from './limitedRpc.ts'

function start(maxWeight = 3, batch?: LimitedRpc['batch']) {
  const sent: string[] = []
  const rpc: LimitedRpc = {
    async request(method) {
      sent.push(method)
      return method
    },
    async batch(calls) {
      sent.push(calls.map(({ method }) => method).join('+'))
      if (batch !== undefined) return batch(calls)
      return calls.map(({ method }) => (method === 'bad' ? new JsonRpcError(-1, 'bad') : method))
    },
  }
  const clock = new ManualClock()
  return { rpc: createCoalescedRpc(rpc, { clock, logger: silentLogger }, { maxWeight }), sent, clock }
}

it('sends the calls of one event loop iteration as batches of limited weight, and a single call unbatched', async () => {
  const { rpc, sent } = start()
  expect(await Promise.all(['a', 'b', 'c', 'd'].map((method) => rpc.request(method, [])))).toEqual(['a', 'b', 'c', 'd'])
  expect(sent).toEqual(['a+b+c', 'd'])
  await Promise.all([
    rpc.request('heavy', [], { weight: 9 }),
    rpc.request('e', []),
    rpc.request('half', [], { weight: 2 }),
    rpc.request('f', []),
    rpc.request('timed', [], { timeoutMs: 5 }),
  ])
  expect(sent.slice(2)).toEqual(['timed', 'heavy', 'e+half', 'f'])
})

it('fails a call with its own error, and all calls with a transport error', async () => {
  const { rpc } = start()
  const answers = await Promise.allSettled(['a', 'bad'].map((method) => rpc.request(method, [])))
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  const down = start(3, () => Promise.reject(new Error('down')))
  const failed = await Promise.allSettled(['a', 'b'].map((method) => down.rpc.request(method, [])))
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(down.sent).toEqual(['a+b'])
})

it('sends single calls for some time after a refused batch', async () => {
  const { rpc, sent, clock } = start(3, () => Promise.reject(new JsonRpcError(-32600, 'batches are not allowed')))
  const both = () => Promise.all([rpc.request('a', []), rpc.request('b', [])])
  expect(await both()).toEqual(['a', 'b'])
  await nextTurn()
  expect(await both()).toEqual(['a', 'b'])
  expect(sent).toEqual(['a+b', 'a', 'b', 'a', 'b'])
  await clock.advance(600_000)
  await both()
  expect(sent.slice(5)).toEqual(['a+b', 'a', 'b'])
})
