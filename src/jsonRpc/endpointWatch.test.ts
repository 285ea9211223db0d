import { expect, it } from 'vitest'
import { createEndpointWatch } from './endpointWatch.ts'

it('records since when an endpoint has not answered, and forwards all events', () => {
  let nowMs = 1_000
  const heard: string[] = []
  const { observer, state } = createEndpointWatch(
    { url: 'http://user:secret@l1:8545/key', clock: { now: () => nowMs, setTimeout: () => () => {} } },
    { onRequest: (method) => void heard.push(`> ${method}`), onEnd: (method) => void heard.push(`< ${method}`) },
  )
  expect(state()).toMatchObject({ silentSinceMs: undefined, answeredAtMs: undefined, failures: 0 })
  expect(state().url).not.toContain('secret')
  expect(state().url).not.toContain('key')
  const call = (answer: Parameters<typeof observer.onEnd>[2]) => {
    observer.onRequest('eth_x', 2)
    observer.onEnd('eth_x', 0.1, answer)
  }
  call({ resultBytes: 4 })
  expect(state()).toMatchObject({ answeredAtMs: 1_000, failures: 0 })
  nowMs = 2_000
  call(undefined)
  nowMs = 3_000
  call(undefined)
  expect(state()).toMatchObject({ answeredAtMs: 1_000, silentSinceMs: 2_000, failures: 2 })
  // A JSON-RPC error counts as an answer.
  call({ errorCode: -32000 })
  expect(state()).toMatchObject({ answeredAtMs: 3_000, silentSinceMs: undefined, failures: 0 })
  // A hanging endpoint counts as silent before its call fails.
  observer.onRequest('eth_y', 2)
  nowMs = 7_900
  expect(state().silentSinceMs).toBeUndefined()
  nowMs = 8_100
  expect(state()).toMatchObject({ silentSinceMs: 3_000, failures: 0 })
  observer.onEnd('eth_y', 5.1, { resultBytes: 1 })
  expect(state().silentSinceMs).toBeUndefined()
  expect(heard.slice(0, 2)).toEqual(['> eth_x', '< eth_x'])
})
