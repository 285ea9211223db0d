import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { DecodeError, DeviumError } from '../lib/errors.ts'
import { createJwt } from '../lib/jwt.ts'
import { nextTurn } from '../lib/nextTurn.ts'
import { listen } from '../lib/testUtils/listen.ts'
import { WAIT_LIMIT_MS } from '../lib/testUtils/until.ts'
import type { Work } from '../lib/yieldToLoop.ts'
import type { BodyChunks } from './bodyChunks.ts'
import { createCallContext } from './callContext.ts'
import { createRpcClient, RpcTransportError } from './client.ts'
import { redact } from './credentials.ts'
import { createRpcApp, serveApp } from './httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from './server.ts'
import { createPatientClient } from './testUtils/patientClient.ts'
import { textOf } from './testUtils/textOf.ts'
import { invalidParams, JsonRpcError, type JsonValue } from './types.ts'

const SECRET = new Uint8Array(32).fill(3)

const LONG_LIST = Array.from({ length: 5000 }, (_, n) => `é${n}`.padEnd(1000))

const methods = new Map<string, RpcHandler>([
  ['echo', (params) => params],
  ['nothing', () => undefined],
  ['long', () => LONG_LIST],
  ['big', () => ({ chainId: 2n ** 60n + 1n })],
  ['refuse', () => Promise.reject(invalidParams('invalid argument 0: expected a peer id'))],
  ['fail', () => Promise.reject(new DeviumError('not-running', 'batcher is not running'))],
  ['decode', () => Promise.reject(new DecodeError('hash: not hex'))],
  ['crash', () => Promise.reject(new TypeError('secret internals'))],
  [
    'slow',
    (_params, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  ],
])

/** Its time begins with the call. */
const context = () => createCallContext({ timeoutMs: WAIT_LIMIT_MS })

function busy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

async function handle(body: unknown, maxBatchSize = 3): Promise<JsonValue> {
  const dispatcher = createRpcDispatcher({ methods, maxBatchSize })
  const answer = await dispatcher.handle(typeof body === 'string' ? body : JSON.stringify(body), context())
  return answer === undefined ? 'no answer' : parse(answer)
}

function parse(answer: BodyChunks | undefined) {
  return JSON.parse(textOf(answer ?? []))
}

describe('createRpcDispatcher', () => {
  /** `message`: one that geth or the method chose, or the data that ours must name. */
  const error = (code: number, message: string | RegExp, id: JsonValue = 1) => ({
    ...{ jsonrpc: '2.0', id },
    error: { code, message: typeof message === 'string' ? message : expect.stringMatching(message) },
  })
  const cases = [
    {
      id: 'positional params',
      body: { id: 1, method: 'echo', params: [1, 'a'] },
      answer: { jsonrpc: '2.0', id: 1, result: [1, 'a'] },
    },
    { id: 'missing params', body: { id: 'x', method: 'echo' }, answer: { jsonrpc: '2.0', id: 'x', result: [] } },
    { id: 'nothing as null', body: { id: 1, method: 'nothing' }, answer: { jsonrpc: '2.0', id: 1, result: null } },
    { id: 'a notification', body: { method: 'echo' }, answer: 'no answer' },
    {
      id: 'unknown methods',
      body: { id: 1, method: 'x_y' },
      answer: error(-32601, 'the method x_y does not exist/is not available'),
    },
    {
      id: 'named params',
      body: { id: 1, method: 'echo', params: { a: 1 } },
      answer: error(-32602, 'non-array args: parameters must be positional'),
    },
    {
      id: 'wrong params',
      body: { id: 1, method: 'refuse' },
      answer: error(-32602, 'invalid argument 0: expected a peer id'),
    },
    { id: 'undecodable params', body: { id: 1, method: 'decode' }, answer: error(-32602, 'hash: not hex') },
    { id: 'domain errors', body: { id: 1, method: 'fail' }, answer: error(-32000, 'batcher is not running') },
    { id: 'bugs without their inside', body: { id: 1, method: 'crash' }, answer: error(-32603, 'internal error') },
    { id: 'no method', body: { id: 1 }, answer: error(-32600, /\bmethod\b/) },
    { id: 'a bare value', body: '5', answer: error(-32600, /./, null) },
    { id: 'no JSON', body: '{', answer: error(-32700, /./, null) },
    { id: 'an empty batch', body: [], answer: error(-32600, /\bbatch\b/, null) },
    {
      id: 'a batch with a notification and an error',
      body: [{ id: 1, method: 'echo' }, { method: 'echo' }, { id: 2, method: 'fail' }],
      answer: [{ jsonrpc: '2.0', id: 1, result: [] }, error(-32000, 'batcher is not running', 2)],
    },
    {
      id: 'a batch over the limit',
      body: [1, { method: 'echo' }, { id: 7, method: 'echo' }, { id: 8, method: 'echo' }],
      answer: [error(-32600, /\b4\b.*\b3\b/, 7)],
    },
  ]
  it.each(cases)('answers $id', async ({ body, answer }) => {
    expect(await handle(body)).toEqual(answer)
  })

  it('runs the calls of a batch one after the other, and stops at the time limit', async () => {
    const controller = new AbortController()
    let running = 0
    let most = 0
    let made = 0
    const count: RpcHandler = async () => {
      made++
      most = Math.max(most, ++running)
      await nextTurn()
      running--
      if (made === 3) controller.abort()
      return made
    }
    const batch = JSON.stringify(Array.from({ length: 1000 }, (_, id) => ({ id, method: 'count' })))
    const dispatcher = createRpcDispatcher({ methods: new Map([['count', count]]) })
    const answers = parse(
      await dispatcher.handle(
        batch,
        createCallContext({ timeoutMs: WAIT_LIMIT_MS, clientDisconnected: () => controller.signal }),
      ),
    )
    expect([most, made, answers.length]).toEqual([1, 3, 1000])
    expect(answers[2]).toMatchObject({ id: 2, result: 3 })
    expect(answers[3]).toEqual(error(-32002, 'request timed out', 3))
  })

  it("refuses the remaining calls of a batch beyond geth's size limit", async () => {
    let made = 0
    const large: RpcHandler = () => {
      made++
      return 'x'.repeat(10_000_000)
    }
    const dispatcher = createRpcDispatcher({ methods: new Map([['large', large]]) })
    const batch = JSON.stringify([...[1, 2, 3, 4].map((id) => ({ id, method: 'large' })), { method: 'large' }, 5])
    const answers = parse(await dispatcher.handle(batch, context()))
    expect(made).toBe(3)
    expect(answers.slice(3)).toEqual([
      error(-32003, 'response too large', 4),
      error(-32003, 'response too large', null),
    ])
  })

  it('yields to the event loop during a batch', async () => {
    const dispatcher = createRpcDispatcher({ methods: new Map([['busy', () => busy(3)]]) })
    const batch = JSON.stringify(Array.from({ length: 100 }, () => ({ id: 1, method: 'busy' })))
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    await dispatcher.handle(batch, context())
    clearInterval(timer)
    expect(turns).toBeGreaterThan(10)
  })

  it('yields to the event loop while it writes a long list, and stops at the time limit', async () => {
    const end = new AbortController()
    let written = 0
    const slow = {
      toJSON() {
        busy(3)
        if (++written === 150) end.abort()
        return 'x'.repeat(300_000)
      },
    }
    const list: RpcHandler = () => Array.from({ length: 100 }, () => slow)
    const dispatcher = createRpcDispatcher({ methods: new Map([['list', list]]) })
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const answer = await dispatcher.handle(
      '{"id":1,"method":"list"}',
      createCallContext({ timeoutMs: WAIT_LIMIT_MS, clientDisconnected: () => end.signal }),
    )
    clearInterval(timer)
    expect(turns).toBeGreaterThan(10)
    expect(parse(answer).result).toEqual(Array.from({ length: 100 }, () => 'x'.repeat(300_000)))
    const ended = await dispatcher.handle(
      '{"id":1,"method":"list"}',
      createCallContext({ timeoutMs: WAIT_LIMIT_MS, clientDisconnected: () => end.signal }),
    )
    expect(parse(ended)).toEqual(error(-32002, 'request timed out'))
    expect(written).toBe(150)
  })

  it('runs priority calls before earlier calls', async () => {
    const order: string[] = []
    const call = (work: Work) => {
      const note: RpcHandler = () => void order.push(work)
      return createRpcDispatcher({ work, methods: new Map([['note', note]]) }).handle(
        '{"id":1,"method":"note"}',
        context(),
      )
    }
    busy(10)
    await Promise.all([call('answer'), call('answer'), call('block')])
    expect(order).toEqual(['block', 'answer', 'answer'])
  })

  it('refuses millions of nested arrays and of keys without parsing them', async () => {
    const members = Array.from({ length: 100_001 }, (_, key) => `"${key}":1`)
    for (const body of [`[${'[],'.repeat(100_001)}1]`, `{"a":`.repeat(100_001), `{${members}}`]) {
      expect(await handle(body)).toEqual(error(-32600, /\b100000\b/, null))
    }
  })

  it('writes integers beyond 2^53 exactly', async () => {
    const answer = await createRpcDispatcher({ methods }).handle('{"id":1,"method":"big"}', context())
    expect(answer?.join('')).toContain('"chainId":1152921504606846977')
  })

  it('returns ids unchanged, even those beyond the range of a double', async () => {
    const dispatcher = createRpcDispatcher({ methods })
    const ids = ['12345678901234567890', '-9007199254740993', '1e400', '7']
    const calls = ids.map((id) => `{"id":${id},"method":"echo","params":[{"id":${id}}]}`)
    const answerTo = async (body = '') => (await dispatcher.handle(body, context()))?.join('')
    expect(await answerTo(calls[0])).toContain('"id":12345678901234567890,')
    const answers = await answerTo(`[${calls}]`)
    for (const id of ids) expect(answers).toContain(`{"jsonrpc":"2.0","id":${id},`)
    expect(await handle({ id: { valueOf: 1, toString: 1 }, method: 'echo' })).toMatchObject({ id: null })
  })

  it('refuses deeply nested input, with its id', async () => {
    const called: unknown[] = []
    const dispatcher = createRpcDispatcher({ methods: new Map([['take', (params) => void called.push(params)]]) })
    const nested = (depth: number) => `{"id":7,"method":"take","params":${'['.repeat(depth)}${']'.repeat(depth)}}`
    const answerTo = async (body: string) => JSON.parse((await dispatcher.handle(body, context()))?.join('') ?? '')
    expect(await answerTo(nested(199))).toMatchObject({ id: 7, result: null })
    expect(called).toHaveLength(1)
    const error = { code: -32600, message: expect.stringMatching(/\b200\b/) }
    for (const depth of [200, 40_000]) expect(await answerTo(nested(depth))).toMatchObject({ id: 7, error })
    expect(await answerTo(nested(40_000).replace('"id":7', '"id":1e400'))).toMatchObject({ id: null, error })
    expect(await answerTo(`[${nested(1)},${nested(40_000)}]`)).toMatchObject({ id: null, error })
    expect(called).toHaveLength(1)
  })

  it('never throws, for any body', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (body) => {
        await handle(body)
      }),
    )
  })
})

describe('client and server over a real socket', async () => {
  const app = createRpcApp({
    dispatcher: createRpcDispatcher({ methods }),
    jwtSecret: SECRET,
    version: 'v1',
    maxBodyBytes: 2000,
  })
  const server = await serveApp(app, '127.0.0.1', 0, '--rpc.port')
  const client = createPatientClient({ url: server.url, jwtSecret: SECRET })
  afterAll(async () => {
    await client.close()
    await server.close()
  })

  it('passes results and errors', async () => {
    expect(await client.request('echo', ['a', 1])).toEqual(['a', 1])
    await expect(client.request('fail', [])).rejects.toMatchObject({
      rpcCode: -32000,
      message: 'batcher is not running',
    })
  })

  it('passes long lists, with all headers of an answer', async () => {
    const openApp = createRpcApp({ dispatcher: createRpcDispatcher({ methods }), corsOrigins: ['http://a.example'] })
    const open = await serveApp(openApp, '127.0.0.1', 0, '--rpc.port')
    const patient = createPatientClient({ url: open.url })
    expect(await patient.batch(Array.from({ length: 2 }, () => ({ method: 'long', params: [] })))).toEqual([
      LONG_LIST,
      LONG_LIST,
    ])
    const answer = await fetch(open.url, {
      method: 'POST',
      body: '{"id":1,"method":"long"}',
      headers: { 'content-type': 'application/json', origin: 'http://a.example' },
    })
    const text = await answer.text()
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': 'http://a.example',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      vary: 'Origin',
    })
    expect(JSON.parse(text).result).toEqual(LONG_LIST)
    await patient.close()
    await open.close()
  })

  it('answers batches in order', async () => {
    const answers = await client.batch([
      { method: 'echo', params: [1] },
      { method: 'fail', params: [] },
      { method: 'echo', params: [2] },
    ])
    expect(answers[0]).toEqual([1])
    expect(answers[1]).toBeInstanceOf(JsonRpcError)
    expect(answers[2]).toEqual([2])
  })

  it('refuses a wrong or missing token', async () => {
    const unauthorized = createPatientClient({ url: server.url, jwtSecret: new Uint8Array(32) })
    await expect(unauthorized.request('echo', [])).rejects.toMatchObject({ details: { status: 401 } })
    const anonymous = await fetch(server.url, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect([anonymous.status, await anonymous.text()]).toEqual([401, 'missing token'])
    await unauthorized.close()
  })

  it('refuses cross-origin requests that need no preflight', async () => {
    const simple = await fetch(server.url, { method: 'POST', body: '{"id":1,"method":"echo"}' })
    expect(simple.status).toBe(415)
  })

  it('limits the size of a body', async () => {
    await expect(client.request('echo', ['x'.repeat(3000)])).rejects.toMatchObject({ details: { status: 413 } })
  })

  it('limits the time of a call', async () => {
    const hurried = await serveApp(
      createRpcApp({ dispatcher: createRpcDispatcher({ methods }), timeoutMs: 50 }),
      '127.0.0.1',
      0,
      '--rpc.port',
    )
    onTestFinished(hurried.close)
    const caller = createPatientClient({ url: hurried.url })
    await expect(caller.request('slow', [])).rejects.toMatchObject({ rpcCode: -32002 })
    await caller.close()
  })

  it('serves the version, and 404 at unknown paths', async () => {
    expect(await (await fetch(`${server.url}/healthz`)).json()).toEqual({ version: 'v1' })
    expect((await fetch(`${server.url}/other`)).status).toBe(404)
  })

  it('drops a client that does not read its answer', async () => {
    const seen = Promise.withResolvers<Socket>()
    const vast: RpcHandler = () => 'x'.repeat(30_000_000)
    const vastApp = createRpcApp({ dispatcher: createRpcDispatcher({ methods: new Map([['vast', vast]]) }) })
    const slowServer = await serveApp(vastApp, '127.0.0.1', 0, '--rpc.port', { readingTimeoutMs: 50 })
    onTestFinished(slowServer.close)
    const onRequest = (message: unknown) => {
      const { socket } = message as { socket: Socket }
      if (socket.localPort === slowServer.port) seen.resolve(socket)
    }
    subscribe('http.server.request.start', onRequest)
    onTestFinished(() => void unsubscribe('http.server.request.start', onRequest))
    const socket = connect(slowServer.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const body = '{"id":1,"method":"vast"}'
    socket.write(
      `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    const served = await seen.promise
    if (!served.destroyed) await once(served, 'close')
  })

  it('reads no body without a token, and none beyond the size limit', async () => {
    const lockedApp = createRpcApp({
      dispatcher: createRpcDispatcher({ methods }),
      jwtSecret: SECRET,
      maxBodyBytes: 1000,
    })
    const locked = await serveApp(lockedApp, '127.0.0.1', 0, '--rpc.port')
    const statusOf = async (headers: string, start: string) => {
      const socket = connect(locked.port, '127.0.0.1')
      socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${start}`)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      return answer.toString().slice(0, 12)
    }
    const token = `authorization: Bearer ${createJwt(SECRET, Math.floor(Date.now() / 1000))}`
    const chunk = `3e8\r\n${' '.repeat(1000)}\r\n`
    // The server answers although the bodies never end.
    expect(await statusOf('transfer-encoding: chunked', chunk)).toBe('HTTP/1.1 401')
    expect(await statusOf('content-length: 900', '{')).toBe('HTTP/1.1 401')
    expect(await statusOf(`${token}\r\ntransfer-encoding: chunked`, chunk + chunk)).toBe('HTTP/1.1 413')
    expect(await statusOf(`${token}\r\ncontent-length: 1001`, '{')).toBe('HTTP/1.1 413')
    await locked.close()
  })

  it('names the flag when the port is in use', async () => {
    await expect(serveApp(app, '127.0.0.1', server.port, '--rpc.port')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(new RegExp(`127\\.0\\.0\\.1:${server.port} .*--rpc\\.port`)),
    })
  })
})

describe('createRpcClient against a bad server', () => {
  it('reports the failure without the secrets of the URL', async () => {
    const client = createPatientClient({ url: 'http://user:hunter2@127.0.0.1:1/api-key' })
    const failure = await client.request('eth_chainId', []).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(RpcTransportError)
    expect(String(failure)).toMatch(/eth_chainId.* http:\/\/127\.0\.0\.1:1\b/)
    expect(String(failure)).not.toMatch(/hunter2|api-key/)
    expect(redact('nonsense')).toBe('an invalid URL')
    await client.close()
  })

  it('refuses an answer of too many parts without parsing it', async () => {
    const server = createServer((_, response) => response.end(`{"id":1,"result":[${'{},'.repeat(4_000_000)}1]}`))
    const { url, close } = await listen(server)
    const client = createPatientClient({ url })
    await expect(client.request('eth_getLogs', [])).rejects.toMatchObject({
      code: 'rpc-transport',
      message: expect.stringMatching(/eth_getLogs.*\b4000000\b/),
    })
    await client.close()
    await close()
  })

  it('times out, and stops waiting when aborted', async () => {
    const { url, close } = await listen(createServer(() => {}))
    const client = createRpcClient({ url, timeoutMs: 50 })
    await expect(client.request('eth_chainId', [])).rejects.toMatchObject({ code: 'rpc-timeout' })
    const controller = new AbortController()
    const pending = client.request('eth_chainId', [], { signal: controller.signal, timeoutMs: 60_000 })
    controller.abort(new Error('stopping'))
    await expect(pending).rejects.toThrow('stopping')
    await client.close()
    await close()
  })
})
