import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock, unixSeconds } from '../lib/clock.ts'
import { createJwt } from '../lib/jwt.ts'
import { createUpgradeApp, type HttpServerHandle, serveApp } from './httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from './server.ts'
import type { WebSocketOptions } from './webSocketServer.ts'

/** RFC 6455, section 5.2. */
const OPCODE = { continuation: 0, text: 1, ping: 9, pong: 10, close: 8 } as const
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const SECRET = new Uint8Array(32).fill(7)
const open: (HttpServerHandle | Socket)[] = []

afterEach(async () => {
  for (const one of open.splice(0)) {
    if ('destroy' in one) one.destroy()
    else await one.close()
  }
})

interface Observed {
  notify: ((content: string) => void)[]
  stopped: number
  aborted: Promise<unknown>[]
}

async function start(options: Partial<WebSocketOptions> = {}): Promise<{ port: number; observed: Observed }> {
  const observed: Observed = { notify: [], stopped: 0, aborted: [] }
  const methods = new Map<string, RpcHandler>([
    ['echo', (params: readonly unknown[]) => params],
    [
      'listen',
      (_, { subscriber }) =>
        subscriber?.subscribe((notify) => {
          notify('"early"')
          observed.notify.push(notify)
          return () => {
            observed.stopped += 1
          }
        }),
    ],
    [
      'wait',
      (_, { signal }) => {
        const aborted = once(signal, 'abort')
        observed.aborted.push(aborted)
        return aborted
      },
    ],
  ])
  const webSockets = {
    dispatcher: createRpcDispatcher({ methods }),
    allowedOrigins: ['https://good.example'],
    notification: 'eth_subscription',
    ...options,
  }
  const server = await serveApp(createUpgradeApp(), '127.0.0.1', 0, 'test', { webSockets })
  open.push(server)
  return { port: server.port, observed }
}

/** A client that writes arbitrary bytes. */
class RawClient {
  readonly socket: Socket
  private text = Buffer.alloc(0)
  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    open.push(this.socket)
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk: Buffer) => {
      this.text = Buffer.concat([this.text, chunk])
    })
  }

  handshake(headers: Record<string, string> = {}): void {
    const lines = Object.entries({
      Host: 'localhost',
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': KEY,
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`)
    this.socket.write(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  }

  async shake(headers: Record<string, string> = {}): Promise<string> {
    this.handshake(headers)
    await expect.poll(() => this.text.indexOf('\r\n\r\n')).toBeGreaterThan(0)
    const end = this.text.indexOf('\r\n\r\n') + 4
    const head = this.text.subarray(0, end).toString()
    this.text = this.text.subarray(end)
    return head
  }

  send(opcode: number, payload: string | Uint8Array, { first = 0x80 | opcode } = {}): void {
    this.socket.write(masked(opcode, Buffer.from(payload), first))
  }

  async frame(): Promise<{ opcode: number; payload: Buffer }> {
    const sizes = () => {
      const short = (this.text[1] ?? 0) & 0x7f
      if (this.text.length < 2) return undefined
      const at = short === 126 ? 4 : short === 127 ? 10 : 2
      if (this.text.length < at) return undefined
      const length =
        short === 126 ? this.text.readUInt16BE(2) : short === 127 ? Number(this.text.readBigUInt64BE(2)) : short
      return this.text.length < at + length ? undefined : [at, length]
    }
    await expect.poll(() => sizes() !== undefined).toBe(true)
    const [at = 0, length = 0] = sizes() ?? []
    const opcode = (this.text[0] ?? 0) & 0x0f
    const payload = Buffer.from(this.text.subarray(at, at + length))
    this.text = this.text.subarray(at + length)
    return { opcode, payload }
  }

  async ended(): Promise<void> {
    await expect.poll(() => this.socket.destroyed).toBe(true)
  }

  async json(): Promise<unknown> {
    return JSON.parse((await this.frame()).payload.toString())
  }
}

function masked(opcode: number, payload: Uint8Array, first = 0x80 | opcode): Buffer {
  const head = Buffer.alloc(payload.length < 126 ? 2 : payload.length < 65_536 ? 4 : 10)
  head[0] = first
  head[1] = 0x80 | (head.length === 2 ? payload.length : head.length === 4 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(payload.length, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(payload.length), 2)
  const mask = Buffer.from([1, 2, 3, 4])
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at & 3] ?? 0))])
}

function closing(code: number, reason: string): Buffer {
  const head = Buffer.alloc(2)
  head.writeUInt16BE(code)
  return Buffer.concat([head, Buffer.from(reason)])
}

const call = (method: string, ...params: unknown[]) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
async function connected(port: number): Promise<RawClient> {
  const client = new RawClient(port)
  expect(await client.shake()).toContain('101')
  return client
}

describe('the handshake', () => {
  it('is answered as in RFC 6455', async () => {
    const { port } = await start()
    expect(await new RawClient(port).shake()).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
  })

  it.each([
    ['another version', { 'Sec-WebSocket-Version': '7' }, '400'],
    ['no key', { 'Sec-WebSocket-Key': 'short' }, '400'],
    ['another protocol', { Upgrade: 'h2c' }, '400'],
    ['a web page of another origin', { Origin: 'https://bad.example' }, '403'],
    ['a page without an origin', { Origin: 'null' }, '403'],
    ['a listed page', { Origin: 'https://good.example' }, '101'],
    ['a page of this machine', { Origin: 'http://localhost:3000' }, '101'],
  ])('%s', async (_, headers, status) => {
    const { port } = await start()
    expect((await new RawClient(port).shake(headers)).split(' ')[1]).toBe(status)
  })

  it('is refused where there are too many connections', async () => {
    const { port } = await start({ maxConnections: 1 })
    const first = await connected(port)
    expect(await new RawClient(port).shake()).toContain('503')
    first.socket.destroy()
    await expect.poll(async () => (await new RawClient(port).shake()).split(' ')[1]).toBe('101')
  })

  it("needs the Engine API's token where it guards the port", async () => {
    const { port } = await start({ jwtSecret: SECRET })
    const shake = (secret: Uint8Array, issuedAtS = unixSeconds(systemClock)) =>
      new RawClient(port).shake({ Authorization: `Bearer ${createJwt(secret, issuedAtS)}` })
    expect(await new RawClient(port).shake()).toContain('401')
    expect(await shake(new Uint8Array(32))).toContain('401')
    expect(await shake(SECRET, 1_000)).toContain('401')
    expect(await shake(SECRET)).toContain('101')
  })

  it('is refused for a host name that is not allowed', async () => {
    const { port } = await start({ allowedHosts: ['localhost'] })
    expect(await new RawClient(port).shake({ Host: 'evil.example' })).toContain('403')
    expect(await new RawClient(port).shake()).toContain('101')
  })

  it('leaves other requests to the HTTP server', async () => {
    const { port } = await start()
    expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(426)
  })
})

describe('messages', () => {
  it('arrive in fragments, with pings between them', async () => {
    const { port } = await start()
    const client = await connected(port)
    const text = call('echo', 'x'.repeat(70_000))
    client.send(OPCODE.text, text.slice(0, 10), { first: OPCODE.text })
    client.send(OPCODE.ping, 'beat')
    client.send(OPCODE.continuation, text.slice(10, 20), { first: OPCODE.continuation })
    client.send(OPCODE.continuation, text.slice(20))
    expect(await client.frame()).toEqual({ opcode: OPCODE.pong, payload: Buffer.from('beat') })
    expect(await client.json()).toEqual({ jsonrpc: '2.0', id: 1, result: ['x'.repeat(70_000)] })
    client.send(OPCODE.text, JSON.stringify([JSON.parse(call('echo', 1)), JSON.parse(call('nothing'))]))
    expect(await client.json()).toMatchObject([{ result: [1] }, { error: { code: -32601 } }])
    client.send(OPCODE.text, Uint8Array.of(0xff, 0xfe))
    expect(await client.json()).toMatchObject({ error: { code: -32700 } })
    client.send(OPCODE.text, 'rubbish')
    expect(await client.json()).toMatchObject({ error: { code: -32700 } })
  })

  it('are answered one at a time across clients if they are large', async () => {
    const waiting: (() => void)[] = []
    const late: RpcHandler = () => new Promise((answer) => waiting.push(() => answer('late')))
    const methods = new Map<string, RpcHandler>([
      ['late', late],
      ['echo', (params) => params],
    ])
    const { port } = await start({ dispatcher: createRpcDispatcher({ methods }) })
    const [client, other] = [await connected(port), await connected(port)]
    const text = call('late', 'x'.repeat(300_000))
    for (let count = 0; count < 6; count++) client.send(OPCODE.text, text)
    client.send(OPCODE.text, call('echo', 'small'))
    expect(await client.json()).toMatchObject({ result: ['small'] })
    // One message is handled and five wait. Three more may wait, and the fourth is too many.
    for (let count = 0; count < 4; count++) other.send(OPCODE.text, text)
    const { opcode, payload } = await other.frame()
    expect([opcode, payload.readUInt16BE(0)]).toEqual([OPCODE.close, 1009])
    for (let count = 1; count <= 6; count++) {
      await expect.poll(() => waiting.length).toBe(count)
      waiting.at(-1)?.()
      expect(await client.json()).toMatchObject({ result: 'late' })
    }
  })

  it.each<[string, number, Buffer]>([
    ['not masked', 1002, Buffer.from([0x81, 0x01, 0x41])],
    ['with bits that nobody agreed on', 1002, masked(OPCODE.text, Buffer.from('a'), 0xc1)],
    ['of an unknown kind', 1002, masked(3, Buffer.from('a'))],
    ['that goes on with nothing', 1002, masked(OPCODE.continuation, Buffer.from('a'))],
    ['that begins within another', 1002, Buffer.concat([masked(1, Buffer.from('a'), 1), masked(1, Buffer.from('a'))])],
    ['a long ping', 1002, masked(OPCODE.ping, Buffer.alloc(126))],
    ['larger than allowed, before it is there', 1009, masked(OPCODE.text, Buffer.alloc(2_000)).subarray(0, 20)],
    [
      'in too many parts',
      1008,
      Buffer.concat([
        masked(1, Buffer.alloc(0), 1),
        ...Array.from({ length: 1_100 }, () => masked(0, Buffer.alloc(0), 0)),
      ]),
    ],
  ])('%s: the connection ends with code %i', async (_, code, bytes) => {
    const { port } = await start({ maxMessageBytes: 1_000 })
    const client = await connected(port)
    client.socket.write(bytes)
    const { opcode, payload } = await client.frame()
    expect([opcode, payload.readUInt16BE(0)]).toEqual([OPCODE.close, code])
    await client.ended()
  })

  it('calls are cancelled when their client disconnects', async () => {
    const { port, observed } = await start()
    const client = await connected(port)
    client.send(OPCODE.text, call('wait'))
    await expect.poll(() => observed.aborted.length).toBe(1)
    client.socket.destroy()
    await observed.aborted[0]
  })

  it('are not read while eight calls wait', async () => {
    const { port, observed } = await start()
    const client = await connected(port)
    for (let count = 0; count < 20; count++) client.send(OPCODE.text, call('wait'))
    await expect.poll(() => observed.aborted.length).toBe(8)
    client.send(OPCODE.text, call('echo', 'later'))
    expect(observed.aborted).toHaveLength(8)
  })

  it('a client that is not read while its calls run is not dropped for silence', async () => {
    const reasons: string[] = []
    const { port, observed } = await start({ pingMs: 50, onDropped: (reason) => reasons.push(reason) })
    const busy = new RawClient(port)
    const shaken = busy.shake()
    for (let count = 0; count < 8; count++) busy.send(OPCODE.text, call('wait'))
    await shaken
    await expect.poll(() => observed.aborted.length).toBe(8)
    // When this client's second ping is due, the busy client's was due, too.
    const silent = await connected(port)
    await silent.ended()
    expect(reasons).toEqual([expect.stringMatching(/\bping\b/)])
    expect(busy.socket.destroyed).toBe(false)
  })

  it('a client that is silent through two pings is dropped, even in the middle of a message', async () => {
    const reasons: string[] = []
    const { port } = await start({ pingMs: 50, onDropped: (reason) => reasons.push(reason) })
    const silent = await connected(port)
    expect(await silent.frame()).toMatchObject({ opcode: OPCODE.ping })
    const end = await silent.frame()
    expect(end).toEqual({ opcode: OPCODE.close, payload: closing(1008, reasons[0] ?? '') })
    await silent.ended()
    const slow = new RawClient(port)
    const shaken = slow.shake()
    slow.send(OPCODE.text, '{', { first: OPCODE.text })
    const beat = setInterval(() => slow.send(OPCODE.pong, ''), 10)
    await shaken
    await slow.ended()
    clearInterval(beat)
    expect(reasons).toEqual([expect.stringMatching(/\bping\b/), expect.stringMatching(/\bmessage\b/)])
  })
})

describe('subscriptions', () => {
  it('notify after the answer with their id, and end with the connection', async () => {
    const { port, observed } = await start()
    const client = await connected(port)
    client.send(OPCODE.text, call('listen'))
    const { result } = (await client.json()) as { result: string }
    expect(await client.json()).toEqual({
      jsonrpc: '2.0',
      method: 'eth_subscription',
      params: { subscription: result, result: 'early' },
    })
    observed.notify[0]?.('{"later":1}')
    expect(await client.json()).toMatchObject({ params: { result: { later: 1 } } })
    client.socket.destroy()
    await expect.poll(() => observed.stopped).toBe(1)
  })

  it('do not begin after the client has left', async () => {
    const refused = Promise.withResolvers<unknown>()
    let started = 0
    const late: RpcHandler = async (_, { signal, subscriber }) => {
      client.socket.destroy()
      await once(signal, 'abort')
      try {
        return subscriber?.subscribe(() => {
          started += 1
          return () => {}
        })
      } catch (error) {
        refused.resolve(error)
        throw error
      }
    }
    const { port } = await start({ dispatcher: createRpcDispatcher({ methods: new Map([['late', late]]) }) })
    const client = await connected(port)
    client.send(OPCODE.text, call('late'))
    expect(await refused.promise).toMatchObject({ message: expect.stringContaining('disconnected') })
    expect(started).toBe(0)
  })

  it('drop a client that does not read', async () => {
    const reasons: string[] = []
    const { port, observed } = await start({ maxUnreadBytes: 100_000, onDropped: (reason) => reasons.push(reason) })
    const client = await connected(port)
    client.send(OPCODE.text, call('listen'))
    await client.json()
    client.socket.pause()
    const content = JSON.stringify('x'.repeat(10_000))
    // The operating system buffers some megabytes for the client.
    for (let count = 0; count < 10_000 && observed.stopped === 0; count++) {
      observed.notify[0]?.(content)
      if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await expect.poll(() => observed.stopped).toBe(1)
    expect(reasons).toEqual([expect.stringMatching(/\b100000 bytes\b/)])
  })

  it('drop a client that has stopped reading by its first ping, with a reason once it reads again', async () => {
    const reasons: string[] = []
    let stopped = 0
    const flood: RpcHandler = (_, { subscriber }) =>
      subscriber?.subscribe((notify) => {
        // More than the operating system buffers for the client, but less than the server's limit.
        for (let count = 0; count < 160; count++) notify(JSON.stringify('x'.repeat(100_000)))
        return () => {
          stopped += 1
        }
      })
    const { port } = await start({
      dispatcher: createRpcDispatcher({ methods: new Map([['flood', flood]]) }),
      ...{ pingMs: 50, closeMs: 60_000 },
      onDropped: (reason) => reasons.push(reason),
    })
    const client = new RawClient(port)
    client.socket.pause()
    client.handshake()
    client.send(OPCODE.text, call('flood'))
    await expect.poll(() => reasons.length).toBe(1)
    expect(reasons[0]).toMatch(/\b\d{6,} bytes\b.*\bping\b/)
    let end = Buffer.alloc(0)
    client.socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
      end = Buffer.concat([end, chunk]).subarray(-200)
    })
    client.socket.resume()
    await client.ended()
    expect(end.includes(closing(1008, reasons[0] ?? ''))).toBe(true)
    await expect.poll(() => stopped).toBe(1)
    expect(reasons).toHaveLength(1)
  })
})
