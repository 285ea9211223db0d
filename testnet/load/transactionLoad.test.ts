import { expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import type { JsonValue } from '../../src/jsonRpc/types.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { nextTurn } from '../../src/lib/nextTurn.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { TransactionLoad } from './transactionLoad.ts'

it('ends when its transactions have arrived, so that the next load does not use their nonces', async () => {
  const answer = Promise.withResolvers<JsonValue[]>()
  let batches = 0
  const l2: RpcClient = {
    url: 'http://l2.example',
    request: async () => '0x0',
    batch: (_, { signal } = {}) => {
      batches++
      signal?.addEventListener('abort', () => answer.reject(signal.reason))
      return answer.promise
    },
    close: async () => {},
  }
  const load = new TransactionLoad({ l2, clock: systemClock }, { l2ChainId: 901 })
  await load.start(50, 'transfers')
  await until(() => batches === 1)
  let isOver = false
  const stopped = load.stop().then(() => {
    isOver = true
  })
  await nextTurn()
  expect(isOver).toBe(false)
  answer.resolve(Array(10).fill('0x'))
  await stopped
  expect([load.accepted, load.refused, batches]).toEqual([10, 0, 1])
})
