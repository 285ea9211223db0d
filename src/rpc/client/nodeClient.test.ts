import { expect, expectTypeOf, it, onTestFinished } from 'vitest'
import type { TokenAccess } from '../../jsonRpc/bearerToken.ts'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createRollupRpc, LIVE_NOTIFICATION } from '../index.ts'
import { optimismRollupConfig } from '../schemas/rollup.ts'
import { hash, RECORD, recorder } from '../testUtils/recorder.ts'
import { createNodeClient, type Events, type NodeMethods } from './index.ts'

async function serve({ access }: { access?: TokenAccess } = {}) {
  const { node, p2p, listeners, calls } = recorder()
  const { dispatcher } = createRollupRpc(
    { node, p2p, clock: new ManualClock(), logger: { ...silentLogger, setLevel: () => {} } },
    { version: 'v1', enableAdmin: true },
  )
  const webSockets = { dispatcher, allowedOrigins: [], notification: LIVE_NOTIFICATION, access }
  const server = await serveApp(createRpcApp({ dispatcher, access }), '127.0.0.1', 0, 'test', { webSockets })
  onTestFinished(server.close)
  const connect = (options: { token?: string; scheme?: 'ws' | 'http'; timeoutMs?: number } = {}) => {
    const { scheme = 'http', ...rest } = options
    const client = createNodeClient({ url: server.url.replace('http', scheme), ...rest })
    onTestFinished(() => client.close())
    return client
  }
  return { connect, listeners, calls, node }
}

it('has the types of the method table', () => {
  expectTypeOf<NodeMethods['devium_outputAtBlock']>().toEqualTypeOf<{ params: [value: Hex]; result: [Hex, Hex] }>()
  expectTypeOf<NodeMethods['admin_startSequencer']>().toEqualTypeOf<{ params: [value?: Hex]; result: null }>()
  expectTypeOf<NodeMethods['opp2p_listBlockedSubnets']['result']>().toEqualTypeOf<{ IP: string; Mask: string }[]>()
  expectTypeOf<NodeMethods['deviump2p_listBlockedSubnets']['result']>().toEqualTypeOf<string[]>()
  expectTypeOf<NodeMethods['devium_subscribe']['params']>().toEqualTypeOf<[value: keyof Events]>()
  expectTypeOf<NodeMethods['devium_syncStatus']['result']['unsafe_l2']['l1origin']['number']>().toEqualTypeOf<number>()
})

it.each(['http', 'ws'] as const)('sends requests over %s, and gives errors their codes', async (scheme) => {
  const { connect, calls } = await serve()
  const client = connect({ scheme })
  const status = await client.request('devium_syncStatus', [])
  expect(status.unsafe_l2.number).toBe(5)
  const dump = await client.request('deviump2p_peers', [true])
  expect(dump.peers[RECORD.peerID]?.protected).toBe(false)
  expect(await client.request('deviump2p_protectPeer', [RECORD.peerID])).toBe(null)
  expect(calls).toContainEqual(['protectPeer', RECORD.peerID])
  // @ts-expect-error: not a block number
  const refused = client.request('devium_outputAtBlock', [5])
  await expect(refused).rejects.toMatchObject({ code: 'json-rpc', rpcCode: -32602 })
  expect(await client.transport.batch([{ method: 'devium_version', params: [] }])).toEqual(['v1'])
})

it('receives a topic from its first event on, and ends the subscription with the signal', async () => {
  const { connect, listeners } = await serve()
  const client = connect()
  const ended = new AbortController()
  const first = Promise.withResolvers<Events['heads']>()
  const done = client.subscribe('heads', first.resolve, ended.signal)
  expect((await first.promise).head_l1.hash).toBe(hash('2'))
  expect(listeners.heads.size).toBe(1)
  ended.abort()
  await done
  await expect.poll(() => listeners.heads.size).toBe(0)
})

it('shows its token, over both', async () => {
  const { connect } = await serve({ access: { token: 'secret-token', guardsReading: true } })
  const client = connect({ token: 'secret-token' })
  expect(await client.request('devium_version', [])).toBe('v1')
  const ended = new AbortController()
  const first = Promise.withResolvers<unknown>()
  const done = client.subscribe('heads', first.resolve, ended.signal)
  await first.promise
  ended.abort()
  await done
  const unauthorized = connect({ token: 'another' })
  await expect(unauthorized.request('devium_version', [])).rejects.toMatchObject({
    message: expect.stringMatching(/token/),
  })
  await expect(unauthorized.subscribe('heads', () => {}, ended.signal)).rejects.toThrow()
})

it('names the expected form of an address, and how long it waited', async () => {
  expect(() => createNodeClient({ url: 'ftp://x' })).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(/http:.*ws:/) }),
  )
  const { connect, node } = await serve()
  node.outputAtBlock = () => new Promise(() => {})
  await expect(connect({ timeoutMs: 50 }).request('devium_outputAtBlock', ['0x1'])).rejects.toMatchObject({
    code: 'rpc-timeout',
  })
})

it('optimism_rollupConfig, which no type keeps to its schema, has no member beside it', async () => {
  const { connect } = await serve()
  const config = await connect().request('optimism_rollupConfig', [])
  expect(optimismRollupConfig.strict().parse(config)).toEqual(config)
})
