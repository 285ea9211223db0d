import { describe, expect, it, onTestFinished } from 'vitest'
import { allowedHostsFor } from '../jsonRpc/hostCheck.ts'
import { createRpcApp, serveApp } from '../jsonRpc/httpServer.ts'
import { systemClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { type Headers, httpRequest, postJson } from '../lib/testUtils/httpRequest.ts'
import { createRollupRpc } from './index.ts'
import { RECORD, recorder } from './testUtils/recorder.ts'

const PEER = RECORD.peerID
const EVIL = { origin: 'https://evil.example' }
const call = (method: string, ...params: unknown[]): object => ({ jsonrpc: '2.0', id: 1, method, params })

/** Serves the rollup node's RPC. */
async function serve(trustedOrigins: readonly string[] = []) {
  const { node, p2p, calls } = recorder()
  const logger = { ...silentLogger, setLevel: () => {} }
  const { dispatcher, methods } = createRollupRpc(
    { node, p2p, clock: systemClock, logger },
    { version: 'v1', enableAdmin: true },
  )
  const allowedHosts = allowedHostsFor('127.0.0.1')
  const app = createRpcApp({ dispatcher, allowedHosts, corsOrigins: ['*'], trustedOrigins })
  const server = await serveApp(app, '127.0.0.1', 0, 'test')
  onTestFinished(server.close)
  const send = (method: string, headers: Headers, body?: string) => httpRequest(server.url, method, headers, body)
  const post = (headers: Headers, body: object) => postJson(server.url, headers, body)
  return { calls, methods, send, post }
}

describe('a web page of another origin', () => {
  it('may read', async () => {
    const { send, post } = await serve()
    const preflightHeaders = {
      ...EVIL,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    }
    const preflight = await send('OPTIONS', preflightHeaders)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'content-type',
    })
    const answer = await post(EVIL, call('opp2p_listBlockedSubnets'))
    expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': '*' } })
    expect(JSON.parse(answer.text).result).toHaveLength(2)
  })

  it('may change nothing, one by one or in a batch', async () => {
    const { calls, methods, post } = await serve()
    const verbs = ['block', 'unblock', 'protect', 'unprotect', 'connect', 'disconnect']
    const names = methods.map(({ name }) => name)
    const changing = names.filter(
      (name) => name.startsWith('admin_') || verbs.some((verb) => name.includes(`_${verb}`)),
    )
    expect(changing.length).toBe(10 * 2 + 1 + names.filter((name) => name.startsWith('admin_')).length)
    for (const origin of [EVIL.origin, 'null', 'http://127.evil.example', 'http://localhost.evil.example']) {
      const { text } = await post(
        { origin },
        changing.map((name) => call(name, PEER)),
      )
      expect(JSON.parse(text)).toEqual(
        changing.map((name) => ({
          jsonrpc: '2.0',
          id: 1,
          error: { code: -32000, message: expect.stringMatching(new RegExp(`${origin} .*${name} `)) },
        })),
      )
    }
    expect(calls).toEqual([])
  })

  it('gets no answer by a host name that resolves to this machine', async () => {
    const { post } = await serve()
    const answer = await post({ host: 'evil.example:9545', origin: 'http://evil.example:9545' }, call('opp2p_self'))
    expect(answer).toMatchObject({ status: 403 })
  })

  it('can send nothing that browsers send without a preflight', async () => {
    const { send, calls } = await serve()
    const body = JSON.stringify(call('opp2p_blockPeer', PEER))
    expect((await send('POST', { ...EVIL, 'content-type': 'text/plain' }, body)).status).toBe(415)
    expect(calls).toEqual([])
  })
})

describe('access to changing methods', () => {
  it.each([
    ['a client that is no browser', undefined],
    ['a page of this machine', 'http://localhost:3000'],
    ['a page of this machine, by address', 'http://[::1]'],
    ['a page of an origin that the operator trusts', 'https://ops.example'],
  ])('%s', async (_who, origin) => {
    const { calls, post } = await serve(['https://ops.example'])
    const { text } = await post(origin === undefined ? {} : { origin }, call('opp2p_blockPeer', PEER))
    expect(JSON.parse(text)).toEqual({ jsonrpc: '2.0', id: 1, result: null })
    expect(calls).toEqual([['blockPeer', PEER]])
  })

  it('any page, if the operator allows it', async () => {
    const { calls, post } = await serve(['*'])
    await post(EVIL, call('opp2p_blockPeer', PEER))
    expect(calls).toEqual([['blockPeer', PEER]])
  })
})
