import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Headers, httpRequest } from '../lib/testUtils/httpRequest.ts'
import { StreamedJson } from './bodyChunks.ts'
import { createRpcApp, type RpcAppOptions, type ServeOptions, serveApp } from './httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from './server.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const ECHO = '{"id":1,"method":"echo","params":["é"]}'
const ECHOED = '{"jsonrpc":"2.0","id":1,"result":["é"]}'
const PLAIN = 'text/plain; charset=UTF-8'

async function serve(
  options: Partial<RpcAppOptions> = {},
  more: [string, RpcHandler][] = [],
  serveOptions: ServeOptions = {},
) {
  const methods = new Map<string, RpcHandler>([['echo', (params) => params], ...more])
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods }), ...options })
  app.get('/extra', (context) => context.text('here'))
  const server = await serveApp(app, '127.0.0.1', 0, 'test', serveOptions)
  onTestFinished(server.close)
  const open = (): Connection => {
    const connection = new Connection(connect(server.port, '127.0.0.1'))
    onTestFinished(() => void connection.socket.destroy())
    return connection
  }
  const post = (headers: Headers, body = ECHO, path = '/') =>
    httpRequest(`${server.url}${path}`, 'POST', { ...JSON_TYPE, ...headers }, body)
  return { ...server, open, post }
}

class Connection {
  readonly socket: Socket
  private text = ''

  constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('utf8').on('data', (chunk) => (this.text += chunk))
    socket.on('error', () => {})
  }

  head(lines: readonly string[], target = '/'): void {
    this.socket.write(
      [`POST ${target} HTTP/1.1`, 'host: a', 'content-type: application/json', ...lines, '', ''].join('\r\n'),
    )
  }

  /** Reads until the text ends with `end`. */
  async until(end: string): Promise<string> {
    while (!this.text.includes(end)) await once(this.socket, 'data')
    const upTo = this.text.indexOf(end) + end.length
    const taken = this.text.slice(0, upTo)
    this.text = this.text.slice(upTo)
    return taken
  }
}

describe('calls over HTTP', () => {
  it('are answered with length and content type', async () => {
    const { post } = await serve()
    const answer = await post({})
    expect(answer).toMatchObject({ status: 200, text: ECHOED })
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(ECHOED)),
      'keep-alive': 'timeout=120',
    })
  })

  it.each([
    ['with a query', '/?key=1', 200],
    ['with the whole URL, as proxies write it', 'http://a/', 200],
    ['with a URL without a path', 'http://a', 200],
    ['at another path', '/extra', 404],
  ])('%s', async (_what, target, status) => {
    const { open } = await serve()
    const connection = open()
    connection.head([`content-length: ${Buffer.byteLength(ECHO)}`], target)
    connection.socket.write(ECHO)
    expect(await connection.until('\r\n')).toContain(`HTTP/1.1 ${status}`)
  })

  it('share the server with other routes', async () => {
    const { url } = await serve()
    expect(await httpRequest(`${url}/extra`, 'GET', {})).toMatchObject({ status: 200, text: 'here' })
    expect(await httpRequest(url, 'GET', {})).toMatchObject({ status: 200, text: expect.stringMatching(/\bPOST\b/) })
  })

  it('that are notifications get no answer', async () => {
    const { post } = await serve()
    expect(await post({}, '{"method":"echo"}')).toMatchObject({ status: 204, text: '' })
  })

  it('may arrive in chunks that split a character', async () => {
    const { open } = await serve()
    const bytes = Buffer.from(ECHO)
    const cut = bytes.indexOf(Buffer.from('é')) + 1
    const parts = [bytes.subarray(0, cut), bytes.subarray(cut)]
    const connection = open()
    connection.head([`content-length: ${bytes.length}`])
    connection.socket.write(parts[0] ?? '')
    // Both parts have been read when another connection has its answer.
    const other = open()
    other.head(['content-length: 2'])
    other.socket.write('{}')
    await other.until('}}')
    connection.socket.write(parts[1] ?? '')
    expect(await connection.until(ECHOED)).toContain('HTTP/1.1 200')
    connection.head(['transfer-encoding: chunked'])
    for (const part of parts) {
      connection.socket.write(`${part.length.toString(16)}\r\n`)
      connection.socket.write(part)
      connection.socket.write('\r\n')
    }
    connection.socket.write('0\r\n\r\n')
    expect(await connection.until(ECHOED)).toContain('HTTP/1.1 200')
  })

  it('without a body are refused as invalid JSON', async () => {
    const { post } = await serve()
    const { status, text } = await post({}, '')
    expect([status, JSON.parse(text).error.code]).toEqual([200, -32700])
  })
})

describe('refused calls', () => {
  /** Longer than a socket's buffer. */
  const LONG = ' '.repeat(262_144)

  it.each<[string, Partial<RpcAppOptions>, Headers, number, RegExp]>([
    ['of another type', {}, { 'content-type': 'text/plain' }, 415, /application\/json/],
    ['to another host', { allowedHosts: ['localhost'] }, { host: 'evil.example' }, 403, /host/],
    ['without a token', { jwtSecret: new Uint8Array(32) }, {}, 401, /token/],
    ['that are too long', { maxBodyBytes: 10 }, {}, 413, /\b10 bytes\b/],
  ])('%s', async (_what, options, headers, status, text) => {
    const { post } = await serve(options)
    const plain = { 'content-type': PLAIN }
    expect(await post(headers)).toMatchObject({ status, text: expect.stringMatching(text), headers: plain })
  })

  it('without a token are answered before their body arrives', async () => {
    const connection = (await serve({ jwtSecret: new Uint8Array(32), maxBodyBytes: 2 ** 30 })).open()
    connection.head(['content-length: 134217728'])
    expect(await connection.until('missing token')).toContain('HTTP/1.1 401')
  })

  it.each([
    ['announced', 'content-length: 262144', LONG],
    ['in chunks', 'transfer-encoding: chunked', `40000\r\n${LONG}\r\n0\r\n\r\n`],
  ])('keep the connection open after their body has been read (%s)', async (_what, line, body) => {
    const { open } = await serve({ maxBodyBytes: 100 })
    const connection = open()
    connection.socket.cork()
    connection.head([line])
    connection.socket.write(body)
    connection.head([`content-length: ${Buffer.byteLength(ECHO)}`])
    connection.socket.write(ECHO)
    connection.socket.uncork()
    expect(await connection.until('100 bytes')).toContain('HTTP/1.1 413')
    expect(await connection.until(ECHOED)).toContain('HTTP/1.1 200')
  })

  it('with an endless body have their connection closed', async () => {
    const { open } = await serve({ maxBodyBytes: 100 })
    const { socket } = open()
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n ')
    await once(socket, 'close')
  })
})

describe('web pages', () => {
  it.each<[string, RpcAppOptions['corsOrigins'], string | undefined, string | undefined, string | undefined]>([
    ['any origin', ['*'], 'https://a.example', '*', undefined],
    ['a listed origin', ['https://a.example'], 'https://a.example', 'https://a.example', 'Origin'],
    ['another origin', ['https://a.example'], 'https://b.example', undefined, 'Origin'],
    ['any port of a host', ['http://localhost:*'], 'http://localhost:5173', 'http://localhost:5173', 'Origin'],
    ['no page', ['https://a.example'], undefined, undefined, 'Origin'],
    ['where none are allowed', undefined, 'https://a.example', undefined, undefined],
  ])('%s', async (_what, corsOrigins, origin, allowed, vary) => {
    const { post, url } = await serve(corsOrigins === undefined ? {} : { corsOrigins })
    if (origin !== undefined) {
      const preflight = { origin, 'access-control-request-method': 'POST' }
      const { headers } = await httpRequest(url, 'OPTIONS', preflight, '')
      expect(headers['access-control-allow-origin']).toBe(allowed)
    }
    for (const type of ['application/json', 'text/plain']) {
      const { headers } = await post({ ...(origin === undefined ? {} : { origin }), 'content-type': type })
      expect([headers['access-control-allow-origin'], headers.vary]).toEqual([allowed, vary])
    }
  })
})

describe('large bodies', () => {
  const body = ECHO.padEnd(300_000)
  const lines = [`content-length: ${Buffer.byteLength(body)}`, 'expect: 100-continue']
  const WAIT = ' 100 Continue'
  const opener = (open: () => Connection) => async () => {
    const connection = open()
    connection.head(lines)
    await connection.until(WAIT)
    return connection
  }

  const inChunks = (connection: Connection, text: string): Connection => {
    connection.head(['transfer-encoding: chunked'])
    connection.socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    return connection
  }

  it('are read one at a time, and a limited number waits', async () => {
    const { open } = await serve()
    const begin = opener(open)
    for (let count = 0; count < 1 + 64; count++) await begin()
    const refused = await begin()
    expect(await refused.until('at once')).toContain('HTTP/1.1 503')
  })

  it('of unknown length get no JSON-RPC answer when they are refused', async () => {
    let calls = 0
    const { open } = await serve({}, [['count', () => ++calls]])
    const begin = opener(open)
    for (let count = 0; count < 1 + 64; count++) await begin()
    const refused = inChunks(open(), '{"id":1,"method":"count"}'.padEnd(300_000))
    expect(await refused.until('at once')).toContain('HTTP/1.1 503')
    // By then the whole body has arrived.
    expect(await inChunks(refused, ECHO).until(ECHOED)).toContain('HTTP/1.1 200')
    expect(calls).toBe(0)
  })

  it('of unknown length wait when they become large; small ones do not wait', async () => {
    const { open } = await serve()
    const reading = await opener(open)()
    const large = inChunks(open(), body)
    for (let count = 0; count < 5; count++) expect(await inChunks(open(), ECHO).until(ECHOED)).toContain('HTTP/1.1 200')
    expect(large.socket.bytesRead).toBe(0)
    reading.socket.destroy()
    expect(await large.until(ECHOED)).toContain('HTTP/1.1 200')
  })

  it('release their place when their client disconnects', async () => {
    const { open } = await serve()
    const begin = opener(open)
    const reading = [await begin()]
    const waiting = [await begin(), await begin()]
    const last = await begin()
    last.socket.write(body)
    for (const { socket } of [...waiting, ...reading]) socket.destroy()
    expect(await last.until(ECHOED)).toContain('HTTP/1.1 200')
  })
})

it('are cancelled when their client disconnects', async () => {
  const begun = Promise.withResolvers<AbortSignal>()
  const waits: RpcHandler = (_, { signal }) => {
    begun.resolve(signal)
    return once(signal, 'abort')
  }
  const { open } = await serve({}, [['waits', waits]])
  const connection = open()
  const call = '{"id":1,"method":"waits"}'
  connection.head([`content-length: ${call.length}`])
  connection.socket.write(call)
  const signal = await begun.promise
  connection.socket.destroy()
  if (!signal.aborted) await once(signal, 'abort')
  expect(signal.reason).toEqual(new Error('the client has disconnected'))
})

it('of unread answers, the oldest are dropped beyond the common limit', async () => {
  const vast: RpcHandler = () => 'x'.repeat(30_000_000)
  const { port } = await serve({}, [['vast', vast]], { maxUnreadBytes: 70_000_000 })
  const call = '{"id":1,"method":"vast"}'
  const openCall = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write(
      `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${call.length}\r\n\r\n${call}`,
    )
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(0)
    return socket
  }
  const bytesOf = async (socket: Socket): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    socket.once('close', resolve).on('data', () => {
      if (socket.bytesRead > 30_000_000) resolve()
    })
    await promise
    return socket.bytesRead
  }
  const [first, second, third] = [await openCall(), await openCall(), await openCall()]
  expect(await bytesOf(first)).toBeLessThan(30_000_000)
  for (const socket of [second, third]) expect(await bytesOf(socket)).toBeGreaterThan(30_000_000)
})

describe('a batch with long answers', () => {
  const head = (call: string) => [
    ...['POST / HTTP/1.1', 'host: a', 'content-type: application/json', `content-length: ${call.length}`, '', call],
  ]
  const LONG = 'x'.repeat(300_000)

  it('is answered while later calls still run', async () => {
    const isRead = Promise.withResolvers<void>()
    const { open } = await serve({}, [
      ['long', () => LONG],
      ['waits', () => isRead.promise],
    ])
    const connection = open()
    connection.socket.write(head('[{"id":1,"method":"long"},{"id":2,"method":"waits"}]').join('\r\n'))
    expect(await connection.until('xxx')).toMatch(/transfer-encoding: chunked/i)
    isRead.resolve()
    expect(await connection.until(']\r\n0\r\n\r\n')).toContain('{"jsonrpc":"2.0","id":2,"result":null}')
  })

  it('waits for a client that does not read, up to the time limit of calls', async () => {
    const begun = Promise.withResolvers<AbortSignal>()
    const long: RpcHandler = (_, { signal }) => {
      begun.resolve(signal)
      return LONG
    }
    const { open } = await serve({ timeoutMs: 500 }, [['long', long]])
    const connection = open()
    connection.socket.pause().write(head(JSON.stringify(Array(80).fill({ id: 1, method: 'long' }))).join('\r\n'))
    const signal = await begun.promise
    if (!signal.aborted) await once(signal, 'abort')
    connection.socket.resume()
    const answer = await connection.until(']\r\n0\r\n\r\n')
    expect(answer).toContain('"code":-32002')
    expect(answer.split('"id":1')).toHaveLength(81)
  })
})

describe('an answer that is streamed', () => {
  const LONG = 'x'.repeat(300_000)
  const PARTS = 200
  async function* list(end: () => Promise<unknown> | undefined): AsyncGenerator<string> {
    yield '[""'
    for (let part = 0; part < PARTS; part++) yield `,"${LONG}"`
    await end()
    yield ']'
  }
  const listing = (end: () => Promise<unknown> | undefined = () => undefined): [string, RpcHandler] => [
    'list',
    () => new StreamedJson(list(end)),
  ]

  it('arrives complete, even beyond the limit of unread bytes', async () => {
    const { post } = await serve({}, [listing()], { maxUnreadBytes: 1_000_000 })
    const { status, text } = await post({}, '{"id":7,"method":"list"}')
    const { id, result } = JSON.parse(text)
    expect([status, id, result.length, result[PARTS] === LONG]).toEqual([200, 7, PARTS + 1, true])
  })

  it('is cut off when it fails', async () => {
    const { open } = await serve({}, [listing(() => Promise.reject(new Error('no more')))])
    const { socket } = open()
    const call = '{"id":1,"method":"list"}'
    socket.write(
      `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${call.length}\r\n\r\n${call}`,
    )
    await once(socket, 'close')
    expect(socket.bytesRead).toBeGreaterThan(LONG.length)
  })

  it('is not collected in memory when it is too long for a batch', async () => {
    const { post } = await serve({}, [listing()])
    const { text } = await post({}, `[{"id":1,"method":"list"},${ECHO}]`)
    expect(JSON.parse(text)).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: -32003, message: expect.any(String) } },
      JSON.parse(ECHOED),
    ])
  })
})
