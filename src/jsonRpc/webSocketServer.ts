import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { systemClock } from '../lib/clock.ts'
import { type Hex, toHex } from '../lib/hex.ts'
import { createBearerCheck } from '../lib/jwt.ts'
import { createSemaphore, type Semaphore } from '../lib/semaphore.ts'
import { createTokenCheck, type TokenAccess } from './bearerToken.ts'
import { LARGE_BODY_BYTES } from './bodies.ts'
import { type BodyChunks, sizeOf } from './bodyChunks.ts'
import { type CallContext, createCallContext, type Subscriber } from './callContext.ts'
import { createHostCheck } from './hostCheck.ts'
import { foreignOrigin } from './originCheck.ts'
import type { RpcDispatcher } from './server.ts'
import { JsonRpcError, RPC_SERVER_ERROR } from './types.ts'

export interface WebSocketOptions {
  onConnections?: (count: number) => void
  dispatcher: RpcDispatcher
  /** Origins whose web pages may connect, in addition to this machine's; `*` = any. */
  allowedOrigins: readonly string[]
  /** Host names that a handshake may use (see `createHostCheck`). Absent: any. */
  allowedHosts?: readonly string[]
  /** As over HTTP. The handshake carries the token. */
  access?: TokenAccess | undefined
  /** As over HTTP: if set, the handshake needs the Engine API's bearer token. */
  jwtSecret?: Uint8Array
  /** The method name of notifications, such as `eth_subscription`. */
  notification: string
  onDropped?: (reason: string) => void
  maxMessageBytes?: number
  maxConnections?: number
  maxSubscriptions?: number
  /** Maximum bytes that a client has not read. Beyond this, its connection is closed. */
  maxUnreadBytes?: number
  timeoutMs?: number
  /** Interval between pings. A client that has sent nothing since the last ping is dropped. */
  pingMs?: number
  /** Time for a client to read the close frame and close its side. */
  closeMs?: number
}

/** RFC 6455, section 7.4.1. */
const CLOSE = { goingAway: 1001, policy: 1008, tooBig: 1009 } as const
/** Bytes of a client's control frame without its payload: two bytes and a mask of four. */
const CONTROL_HEAD_BYTES = 6
/** Limits the fragments of a message: a million empty frames would be a million arrays. */
const MAX_FRAGMENTS = 1024
/** A shorter answer is sent in one frame, a longer one in several. */
const JOINED_BYTES = 1024 * 1024
/** The same limit as over HTTP. */
const DEFAULT_MAX_MESSAGE_BYTES = 5 * 1024 * 1024
const DEFAULT_MAX_CONNECTIONS = 500
const DEFAULT_MAX_SUBSCRIPTIONS = 100
/** An answer of the maximum size (a trace of 50 MB), plus the notifications in the meantime. */
const DEFAULT_MAX_UNREAD_BYTES = 64 * 1024 * 1024
/**
 * The limit for all connections together is this multiple of `maxUnreadBytes`. It affects only connections with more
 * than 1 MiB unread.
 */
const UNREAD_OF_ALL = 2
const MEBIBYTE = 1024 * 1024
const DEFAULT_CALL_TIMEOUT_MS = 60_000
const DEFAULT_PING_MS = 30_000
/**
 * While it is processed, a message of megabytes takes several times its size in memory. So one large message is handled
 * at a time, over all clients.
 */
const MAX_LARGE_MESSAGES = 1
/** Complete messages that may wait for it. */
const MAX_WAITING_MESSAGES = 8
/** Concurrent calls of one connection. At the limit, the server stops reading from the connection. */
const MAX_CALLS = 8
const DEFAULT_CLOSE_MS = 1_000

/** Serves JSON-RPC over WebSockets on the server's port. The returned function closes all connections. */
export function serveWebSockets(server: Server, options: WebSocketOptions): () => void {
  const connections = new Set<Connection>()
  const unreadOfAll = () => [...connections].reduce((sum, { unreadBytes }) => sum + unreadBytes, 0)
  const isHostAllowed = createHostCheck(options.allowedHosts ?? ['*'])
  const { access } = options
  // The rollup node's messages do not wait, as over HTTP.
  const largeMessages = createSemaphore(options.jwtSecret === undefined ? MAX_LARGE_MESSAGES : Number.POSITIVE_INFINITY)
  const jwtProblem = options.jwtSecret && createBearerCheck(options.jwtSecret, systemClock)
  const hasToken = access === undefined ? () => true : createTokenCheck(access)
  const maxConnections = options.maxConnections ?? DEFAULT_MAX_CONNECTIONS
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
    maxFragments: MAX_FRAGMENTS,
    // Pongs count as bytes that a client has not read.
    autoPong: false,
    // Bytes that are not UTF-8 get a parse error, as over HTTP.
    skipUTF8Validation: true,
    handleProtocols: (offered) => offered.has(PROTOCOL) && PROTOCOL,
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, first: Buffer) => {
    socket.on('error', () => socket.destroy())
    const { origin, host } = request.headers
    const foreign = foreignOrigin(origin, options.allowedOrigins, host)
    if (foreign !== undefined || !isHostAllowed(host)) return refuse(socket, '403 Forbidden')
    const lacksToken = !hasToken(authorizationOf(request))
    const isRefused = (lacksToken && access?.guardsReading) || jwtProblem?.(authorizationOf(request)) !== undefined
    if (isRefused) return refuse(socket, '401 Unauthorized')
    if (connections.size >= maxConnections) return refuse(socket, '503 Service Unavailable')
    handshakes.handleUpgrade(request, socket, first, (client) => {
      const connection = new Connection(client, socket, lacksToken, options, { unreadOfAll, largeMessages })
      connections.add(connection)
      options.onConnections?.(connections.size)
      client.once('close', () => {
        connections.delete(connection)
        options.onConnections?.(connections.size)
        connection.end()
      })
    })
  })
  return () => {
    for (const connection of connections) connection.close(CLOSE.goingAway, 'the program is stopping')
  }
}

/**
 * The subprotocol that a client requests together with its token (RFC 6455, section 1.9). Web pages cannot set other
 * headers.
 */
const PROTOCOL = 'devium'
/** The token is in hex, because not all of its characters are allowed in this header. */
const TOKEN_PROTOCOL = 'bearer.'

function protocolsOf({ headers }: IncomingMessage): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
}

function authorizationOf(request: IncomingMessage): string | undefined {
  const shown = protocolsOf(request).find((name) => name.startsWith(TOKEN_PROTOCOL))
  if (shown === undefined) return request.headers.authorization
  return `Bearer ${Buffer.from(shown.slice(TOKEN_PROTOCOL.length), 'hex').toString()}`
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

interface Subscription {
  stop: () => void
  /** Notifications that were produced before the client got the subscription's id. */
  early: (string | Uint8Array)[] | undefined
}

interface Shared {
  unreadOfAll: () => number
  largeMessages: Semaphore
}

class Connection {
  private readonly webSocket: WebSocket
  private readonly socket: Duplex
  private readonly options: WebSocketOptions
  private readonly lacksToken: boolean
  private readonly shared: Shared
  private readonly disconnected = new AbortController()
  private readonly subscriptions = new Map<Hex, Subscription>()
  private readonly timer: NodeJS.Timeout
  private running = 0
  /** Messages that arrived while others were handled. */
  private readonly unanswered: Uint8Array[] = []
  private isClosing = false
  /** Whether data has arrived since the last ping, and whether a message was incomplete at that time. */
  private isAlive = true
  private wasWithin = false
  /** Bytes of an incomplete message. */
  private partBytes = 0

  constructor(webSocket: WebSocket, socket: Duplex, lacksToken: boolean, options: WebSocketOptions, shared: Shared) {
    this.webSocket = webSocket
    this.socket = socket
    this.shared = shared
    this.lacksToken = lacksToken
    this.options = options
    // After a stall of this process, what the client has sent meanwhile is read first.
    const check = () => setImmediate(() => this.checkAlive())
    this.timer = setInterval(check, options.pingMs ?? DEFAULT_PING_MS)
    // Runs before the library's handler, which then reports the kind of each frame.
    socket.prependListener('data', (chunk: Uint8Array) => {
      this.isAlive = true
      this.partBytes += chunk.length
    })
    const onControl = (payload: Uint8Array) => {
      this.partBytes -= CONTROL_HEAD_BYTES + payload.length
    }
    webSocket.on('ping', onControl).on('pong', onControl)
    webSocket.on('ping', (payload) => {
      if (this.mayWrite(payload.length)) webSocket.pong(payload)
    })
    webSocket.on('message', (data) => this.onMessage(bytesOf(data)))
    // For a protocol error or a message that is too large, the library closes the connection with the right code.
    webSocket.on('error', () => this.endSoon())
  }

  get unreadBytes(): number {
    return this.webSocket.bufferedAmount
  }

  /** Called after the socket has closed. */
  end(): void {
    clearInterval(this.timer)
    this.isClosing = true
    this.unanswered.length = 0
    for (const { stop } of this.subscriptions.values()) stop()
    this.subscriptions.clear()
    this.disconnected.abort(new Error('the client has disconnected'))
  }

  close(code: number, reason: string): void {
    if (this.isClosing) return
    this.webSocket.close(code, reason)
    this.endSoon()
  }

  private endSoon(): void {
    this.isClosing = true
    // Ends the socket after the close frame.
    this.socket.end()
    setTimeout(() => this.webSocket.terminate(), this.options.closeMs ?? DEFAULT_CLOSE_MS).unref()
  }

  /**
   * A client that does not read does not answer pings. The ping finds it long before its unread bytes reach the limit.
   */
  private checkAlive(): void {
    // While the server does not read from this connection, it cannot see the pong.
    if (this.isClosing || this.webSocket.isPaused) return
    const isWithin = this.partBytes > 0
    if (!this.isAlive) return void this.drop(this.reasonForSilence())
    if (isWithin && this.wasWithin) return void this.drop('takes too long to send a message')
    this.isAlive = false
    this.wasWithin = isWithin
    this.webSocket.ping()
  }

  private reasonForSilence(): string {
    const unread = this.unreadBytes
    return unread === 0 ? 'answers no ping' : `reads too slowly: ${unread} bytes are unread, and no ping is answered`
  }

  /** The reason reaches the client if it reads again. */
  private drop(reason: string): void {
    this.options.onDropped?.(reason)
    this.close(CLOSE.policy, reason)
  }

  private onMessage(bytes: Uint8Array): void {
    if (this.isClosing) return
    this.wasWithin = false
    this.partBytes = 0
    this.unanswered.push(bytes)
    this.runNext()
  }

  private runNext(): void {
    while (this.running < MAX_CALLS) {
      const message = this.unanswered.shift()
      if (message === undefined) break
      this.running += 1
      void this.answer(message).finally(() => {
        this.running -= 1
        this.runNext()
      })
    }
    if (this.running >= MAX_CALLS) this.webSocket.pause()
    else this.webSocket.resume()
  }

  private async answer(message: Uint8Array): Promise<void> {
    const begun: Hex[] = []
    const call: CallContext = createCallContext({
      timeoutMs: this.options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS,
      clientDisconnected: () => this.disconnected.signal,
      foreignOrigin: undefined,
      lacksToken: this.lacksToken,
      subscriber: this.subscriber(begun),
    })
    try {
      const chunks = await this.handle(message, call)
      if (chunks !== undefined) this.write(chunks)
      for (const id of begun) this.flush(id)
    } catch {
      // The client has disconnected while its answer was written.
      this.webSocket.terminate()
    } finally {
      call.end()
    }
  }

  private handle(message: Uint8Array, call: CallContext): Promise<BodyChunks | undefined> {
    const answer = () =>
      this.options.dispatcher.handle(Buffer.from(message.buffer, message.byteOffset, message.length).toString(), call)
    if (message.length <= LARGE_BODY_BYTES) return answer()
    const { largeMessages } = this.shared
    if (largeMessages.waiting < MAX_WAITING_MESSAGES) {
      return largeMessages.run(async () => (this.isClosing ? undefined : answer()))
    }
    this.close(CLOSE.tooBig, 'too many large messages at once')
    return Promise.resolve(undefined)
  }

  private subscriber(begun: Hex[]): Subscriber {
    const max = this.options.maxSubscriptions ?? DEFAULT_MAX_SUBSCRIPTIONS
    return {
      subscribe: (start) => {
        // The call may have waited for its turn while the client left.
        if (this.isClosing) throw new JsonRpcError(RPC_SERVER_ERROR, 'the client has disconnected')
        if (this.subscriptions.size >= max) {
          throw new JsonRpcError(RPC_SERVER_ERROR, `too many subscriptions: at most ${max} on one connection`)
        }
        const id = toHex(new Uint8Array(randomBytes(16)))
        const subscription: Subscription = { stop: () => {}, early: [] }
        subscription.stop = start((content) => {
          if (subscription.early === undefined) this.notify(id, content)
          else subscription.early.push(content)
        })
        this.subscriptions.set(id, subscription)
        begun.push(id)
        return id
      },
      unsubscribe: (id) => {
        this.subscriptions.get(id)?.stop()
        return this.subscriptions.delete(id)
      },
    }
  }

  private flush(id: Hex): void {
    const subscription = this.subscriptions.get(id)
    if (subscription === undefined) return
    for (const content of subscription.early ?? []) this.notify(id, content)
    subscription.early = undefined
  }

  private notify(id: Hex, content: string | Uint8Array): void {
    const head = `{"jsonrpc":"2.0","method":"${this.options.notification}","params":{"subscription":"${id}","result":`
    this.write([head, content, '}}'])
  }

  private write(chunks: BodyChunks): void {
    const length = sizeOf(chunks)
    if (!this.mayWrite(length)) return
    const frames = length > JOINED_BYTES ? chunks : [Buffer.concat(chunks.map(toBytes))]
    for (const [index, frame] of frames.entries()) {
      this.webSocket.send(frame, { binary: false, fin: index === frames.length - 1 })
    }
  }

  /** Drops a client that does not read its answers, because they all wait in memory. */
  private mayWrite(length: number): boolean {
    if (this.isClosing) return false
    const reason = this.reasonToDrop(length, this.options.maxUnreadBytes ?? DEFAULT_MAX_UNREAD_BYTES)
    if (reason !== undefined) this.drop(reason)
    return reason === undefined
  }

  private reasonToDrop(length: number, max: number): string | undefined {
    const unread = this.unreadBytes + length
    if (unread > max) return `reads too slowly: more than ${max} bytes are unread`
    if (unread <= MEBIBYTE || this.shared.unreadOfAll() + length <= max * UNREAD_OF_ALL) return undefined
    return 'reads too slowly: the unread bytes of all clients reached the limit'
  }
}

const toBytes = (chunk: string | Uint8Array): Uint8Array => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)

/** With the default `binaryType`, a message is one buffer. */
function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}
