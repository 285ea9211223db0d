import { once } from 'node:events'
import { WebSocket } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TokenAccess } from '../jsonRpc/bearerToken.ts'
import { createRpcApp, serveApp } from '../jsonRpc/httpServer.ts'
import { systemClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { httpRequest, postJson } from '../lib/testUtils/httpRequest.ts'
import { createRollupRpc, LIVE_NOTIFICATION } from './index.ts'
import { RECORD, recorder } from './testUtils/recorder.ts'

const TOKEN = 'a-token-of-some-length'
const SHOWN = { authorization: `Bearer ${TOKEN}` }
const WRONG = { authorization: 'Bearer another-token-of-some-length' }
const BLOCK = { jsonrpc: '2.0', id: 1, method: 'deviump2p_blockPeer', params: [RECORD.peerID] }
const READ = { jsonrpc: '2.0', id: 1, method: 'devium_version', params: [] }
const refused = (method: string) => ({
  ...{ code: -32000, message: expect.stringContaining(method) },
  data: { needs: 'token' },
})

/** Listed by name, so that no method is open only because the table marks it as reading. */
const CHANGING = [
  ...['opp2p', 'deviump2p'].flatMap((namespace) =>
    [
      ...['blockPeer', 'unblockPeer', 'blockAddr', 'unblockAddr', 'blockSubnet', 'unblockSubnet'],
      ...['protectPeer', 'unprotectPeer', 'connectPeer', 'disconnectPeer'],
    ].map((verb) => `${namespace}_${verb}`),
  ),
  'deviump2p_block',
  'devium_note',
  'devium_testnetCommand',
  ...['admin_resetDerivationPipeline', 'admin_startSequencer', 'admin_stopSequencer', 'admin_overrideLeader'],
  ...['admin_setRecoverMode', 'admin_setSdmPostExecOptIn', 'admin_postUnsafePayload', 'admin_setLogLevel'],
]

async function serve(access: TokenAccess) {
  const { node, p2p, calls } = recorder()
  const logger = { ...silentLogger, setLevel: () => {} }
  const { dispatcher, methods } = createRollupRpc(
    { node, p2p, clock: systemClock, logger },
    { version: 'v1', enableAdmin: true },
  )
  const webSockets = { dispatcher, access, allowedOrigins: [], notification: LIVE_NOTIFICATION }
  const app = createRpcApp({ dispatcher, access, version: 'v1' })
  const server = await serveApp(app, '127.0.0.1', 0, 'test', { webSockets })
  onTestFinished(server.close)
  const post = async (headers: Record<string, string>, body: object) => {
    const { status, text } = await postJson(server.url, headers, body)
    return { status, answer: status === 200 ? JSON.parse(text) : text }
  }
  /** Undefined if the handshake is refused. */
  const overWebSocket = async (
    { 'sec-websocket-protocol': offered = '', ...headers }: Record<string, string>,
    body: object,
  ): Promise<unknown> => {
    const protocols = offered === '' ? [] : offered.split(', ')
    const socket = new WebSocket(server.url.replace('http', 'ws'), { headers, protocols })
    onTestFinished(() => socket.close())
    const refused = once(socket, 'error').then(() => undefined)
    return Promise.race([
      refused,
      once(socket, 'open').then(async () => {
        socket.send(JSON.stringify(body))
        const [{ data }] = (await once(socket, 'message')) as [{ data: string }]
        return JSON.parse(data)
      }),
    ])
  }
  return { ...server, calls, methods, post, overWebSocket }
}

describe('where a token is needed to change something', () => {
  it('no method that does is called without it, one by one or in a batch', async () => {
    const { calls, post } = await serve({ token: TOKEN, guardsReading: false })
    const batch = CHANGING.map((method) => ({ ...BLOCK, method }))
    for (const headers of [{}, WRONG]) {
      const { answer } = await post(headers, batch)
      expect(answer).toEqual(CHANGING.map((method) => ({ jsonrpc: '2.0', id: 1, error: refused(method) })))
      expect((await post(headers, BLOCK)).answer.error).toEqual(refused(BLOCK.method))
    }
    expect(calls).toEqual([])
  })

  it('a client with it may change, and every client may read', async () => {
    const { calls, post } = await serve({ token: TOKEN, guardsReading: false })
    expect((await post({}, READ)).answer.result).toBe('v1')
    expect((await post(SHOWN, BLOCK)).answer.result).toBe(null)
    expect(calls).toEqual([['blockPeer', RECORD.peerID]])
  })

  it('every other method answers clients without it, admin methods included', async () => {
    const { methods, post } = await serve({ token: TOKEN, guardsReading: false })
    const names = methods.map(({ name }) => name)
    const reading = names.filter((name) => !CHANGING.includes(name))
    expect(names.length - reading.length).toBe(CHANGING.length)
    expect(reading.filter((name) => name.startsWith('admin_'))).toEqual([
      'admin_sequencerActive',
      'admin_conductorEnabled',
      'admin_sdmStatus',
    ])
    const { answer } = await post(
      {},
      reading.map((method) => ({ ...READ, method })),
    )
    const messages: string[] = answer.map(({ error }: { error?: { message: string } }) => error?.message ?? '')
    expect(messages.filter((message) => message.includes('token'))).toEqual([])
    const active = await post({}, { ...READ, method: 'admin_sequencerActive' })
    expect(active.answer).toMatchObject({ result: true })
  })

  it('the same holds over WebSockets', async () => {
    const { calls, overWebSocket } = await serve({ token: TOKEN, guardsReading: false })
    for (const headers of [{}, WRONG]) {
      expect(await overWebSocket(headers, BLOCK)).toMatchObject({ error: refused(BLOCK.method) })
      expect(await overWebSocket(headers, READ)).toMatchObject({ result: 'v1' })
    }
    expect(calls).toEqual([])
    expect(await overWebSocket(SHOWN, BLOCK)).toMatchObject({ result: null })
    expect(calls).toEqual([['blockPeer', RECORD.peerID]])
  })

  it('a web page sends it as one of its requested protocols', async () => {
    const { calls, overWebSocket } = await serve({ token: TOKEN, guardsReading: true })
    const handshakeWith = (token: string) => ({
      'sec-websocket-protocol': `devium, bearer.${Buffer.from(token).toString('hex')}`,
    })
    expect(await overWebSocket(handshakeWith('another-token-of-some-length'), READ)).toBe(undefined)
    expect(await overWebSocket(handshakeWith(TOKEN), BLOCK)).toMatchObject({ result: null })
    expect(calls).toEqual([['blockPeer', RECORD.peerID]])
  })

  it('and there is none, no client may', async () => {
    const { calls, post } = await serve({ token: undefined, guardsReading: false })
    for (const headers of [{}, SHOWN, { authorization: 'Bearer undefined' }]) {
      expect((await post(headers, BLOCK)).answer.error).toEqual(refused(BLOCK.method))
    }
    expect(calls).toEqual([])
  })
})

it('where a token is needed to read, nothing is answered without it but whether the program runs', async () => {
  const { url, post, overWebSocket } = await serve({ token: TOKEN, guardsReading: true })
  for (const headers of [{}, WRONG]) {
    expect(await post(headers, READ)).toEqual({ status: 401, answer: 'missing or wrong token' })
    expect(await overWebSocket(headers, READ)).toBe(undefined)
  }
  expect((await post(SHOWN, READ)).answer.result).toBe('v1')
  expect(await overWebSocket(SHOWN, READ)).toMatchObject({ result: 'v1' })
  expect((await httpRequest(`${url}/healthz`, 'GET', {})).status).toBe(200)
})
