import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Hex, toHex } from '../hex.ts'
import { createSlots, type Slots } from '../slots.ts'
import { createTokenCheck, type TokenAccess } from './bearerToken.ts'
import { type CallContext, createCallContext, type Subscriber } from './callContext.ts'
import { createHostCheck } from './hostCheck.ts'
import { type AnswerLarge, LARGE_BODY_BYTES } from './httpCalls.ts'
import { foreignOrigin } from './originCheck.ts'
import { type Pieces, sizeOf } from './pieces.ts'
import type { RpcDispatcher } from './server.ts'
import { JsonRpcError, RPC_SERVER_ERROR } from './types.ts'
import {
  CLOSE,
  createWebSocketReader,
  frameHead,
  OPCODE,
  WebSocketFault,
  type WebSocketReader,
} from './webSocketFrames.ts'

export interface WebSocketOptions {
  /** Told how many there are, whenever that changes. */
  onConnections?: (count: number) => void
  dispatcher: RpcDispatcher
  /** Answers large messages as the dispatcher would, without its turns of the event loop. Absent: the dispatcher does. */
  answerLarge?: AnswerLarge
  /** Origins whose web pages may connect, beside those of this machine; `*` = any. */
  allowedOrigins: readonly string[]
  /** Host names that a handshake may be addressed to (see createHostCheck); absent: any. */
  allowedHosts?: readonly string[]
  /** As over HTTP; the handshake shows the token. */
  access?: TokenAccess | undefined
  /** The method that notifications name, such as `eth_subscription`. */
  notification: string
  /** Told of clients that are dropped, with the reason that they were given. */
  onDropped?: (reason: string) => void
  maxMessageBytes?: number
  maxConnections?: number
  maxSubscriptions?: number
  /** Bytes that wait for a client to read them; past it, its connection ends. */
  maxUnreadBytes?: number
  /** Time that a call may take. */
  timeoutMs?: number
  /** From one ping to the next; a client that has sent nothing since the last one is dropped. */
  pingMs?: number
  /** For a client to read why, and close, after we have. */
  closeMs?: number
}

/** RFC 6455, section 1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** As over HTTP. */
const DEFAULT_MAX_MESSAGE_BYTES = 5 * 1024 * 1024
const DEFAULT_MAX_CONNECTIONS = 500
const DEFAULT_MAX_SUBSCRIPTIONS = 100
/** An answer of the largest size, and what is told meanwhile. */
const DEFAULT_MAX_UNREAD_BYTES = 32 * 1024 * 1024
/** So many times that for all connections, which matters to those with more than a MiB. */
const UNREAD_OF_ALL = 4
const MEBIBYTE = 1024 * 1024
const DEFAULT_CALL_TIMEOUT_MS = 60_000
const DEFAULT_PING_MS = 30_000
/** A message of megabytes takes several times as much until it is answered: of all clients one is read at a time. */
const MAX_LARGE_MESSAGES = 1
/** Whole ones that wait for that. */
const MAX_WAITING_MESSAGES = 8
/** Calls of one connection at a time; until one is answered no more is read of it. */
const MAX_CALLS = 8
const DEFAULT_CLOSE_MS = 1_000

/** Serves JSON-RPC over WebSockets on the server's port. The returned function ends all connections. */
export function serveWebSockets(server: Server, options: WebSocketOptions): () => void {
  const connections = new Set<Connection>()
  const unreadOfAll = () => [...connections].reduce((sum, { unreadBytes }) => sum + unreadBytes, 0)
  const isHostAllowed = createHostCheck(options.allowedHosts ?? ['*'])
  const { access } = options
  const largeMessages = createSlots(MAX_LARGE_MESSAGES)
  const hasToken = access === undefined ? () => true : createTokenCheck(access)
  const maxConnections = options.maxConnections ?? DEFAULT_MAX_CONNECTIONS
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, first: Uint8Array) => {
    socket.on('error', () => socket.destroy())
    const [problem, key] = checkHandshake(request, options)
    if (problem !== undefined) return refuse(socket, problem)
    if (!isHostAllowed(request.headers.host)) return refuse(socket, '403 Forbidden')
    const lacksToken = !hasToken(authorizationOf(request))
    if (lacksToken && access?.guardsReading) return refuse(socket, '401 Unauthorized')
    if (connections.size >= maxConnections) return refuse(socket, '503 Service Unavailable')
    const accept = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64')
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    if (protocolsOf(request).includes(PROTOCOL)) lines.push(`Sec-WebSocket-Protocol: ${PROTOCOL}`)
    socket.write(`${[...lines, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`)
    const { origin, host } = request.headers
    const foreign = foreignOrigin(origin, options.allowedOrigins, host)
    const connection = new Connection(socket, { foreignOrigin: foreign, lacksToken }, options, {
      unreadOfAll,
      largeMessages,
    })
    connections.add(connection)
    options.onConnections?.(connections.size)
    socket.once('close', () => {
      connections.delete(connection)
      options.onConnections?.(connections.size)
      connection.end()
    })
    connection.read(first)
  })
  return () => {
    for (const connection of connections) connection.close(CLOSE.goingAway, 'the program is stopping')
  }
}

/** What a client asks for that shows its token beside it (RFC 6455, section 1.9): web pages cannot set other headers. */
const PROTOCOL = 'devium'
/** The token as hex, since not all of its characters may stand there. */
const TOKEN_PROTOCOL = 'bearer.'

function protocolsOf({ headers }: IncomingMessage): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
}

function authorizationOf(request: IncomingMessage): string | undefined {
  const shown = protocolsOf(request).find((name) => name.startsWith(TOKEN_PROTOCOL))
  if (shown === undefined) return request.headers.authorization
  return `Bearer ${Buffer.from(shown.slice(TOKEN_PROTOCOL.length), 'hex').toString()}`
}

function checkHandshake(
  { method, headers }: IncomingMessage,
  { allowedOrigins }: WebSocketOptions,
): [problem: string] | [problem: undefined, key: string] {
  const key = headers['sec-websocket-key'] ?? ''
  const isUpgrade = method === 'GET' && /^websocket$/i.test(headers.upgrade ?? '')
  if (!isUpgrade || Buffer.from(key, 'base64').length !== 16) return ['400 Bad Request']
  if (headers['sec-websocket-version'] !== '13') return ['426 Upgrade Required']
  if (foreignOrigin(headers.origin, allowedOrigins, headers.host) !== undefined) return ['403 Forbidden']
  return [undefined, key]
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nSec-WebSocket-Version: 13\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

interface Subscription {
  stop: () => void
  /** What came before the client was told its id. */
  early: (string | Uint8Array)[] | undefined
}

/** What its handshake said. */
interface ClientFacts {
  foreignOrigin: string | undefined
  lacksToken: boolean
}

/** What all clients of a server have together. */
interface Shared {
  unreadOfAll: () => number
  largeMessages: Slots
}

/** One client. */
class Connection {
  private readonly socket: Duplex
  private readonly options: WebSocketOptions
  private readonly client: ClientFacts
  private readonly shared: Shared
  private readonly reader: WebSocketReader
  private readonly gone = new AbortController()
  private readonly subscriptions = new Map<Hex, Subscription>()
  private readonly timer: NodeJS.Timeout
  private running = 0
  /** Messages that were read while others ran. */
  private readonly unanswered: Uint8Array[] = []
  private isClosing = false
  /** Whether anything came since the last ping, and whether a message was under way then. */
  private isAlive = true
  private wasWithin = false

  constructor(socket: Duplex, client: ClientFacts, options: WebSocketOptions, shared: Shared) {
    this.socket = socket
    this.shared = shared
    this.client = client
    this.options = options
    this.reader = createWebSocketReader({
      maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
      onMessage: (bytes) => this.onMessage(bytes),
      onControl: (opcode, payload) => this.onControl(opcode, payload),
    })
    this.timer = setInterval(() => this.look(), options.pingMs ?? DEFAULT_PING_MS)
    socket.on('data', (chunk: Uint8Array) => this.read(chunk))
    // Sockets of HTTP servers stay half open.
    socket.on('end', () => socket.destroy())
  }

  get unreadBytes(): number {
    return this.socket.writableLength
  }

  read(chunk: Uint8Array): void {
    this.isAlive = true
    try {
      this.reader.read(chunk)
    } catch (error) {
      if (!(error instanceof WebSocketFault)) throw error
      this.close(error.closeCode, error.message)
    }
  }

  /** After the socket has closed. */
  end(): void {
    clearInterval(this.timer)
    this.isClosing = true
    this.unanswered.length = 0
    for (const { stop } of this.subscriptions.values()) stop()
    this.subscriptions.clear()
    this.gone.abort(new Error('the client has gone'))
  }

  close(code: number, reason: string): void {
    if (this.isClosing) return
    this.isClosing = true
    const text = Buffer.from(reason)
    const payload = Buffer.alloc(2 + text.length)
    payload.writeUInt16BE(code)
    text.copy(payload, 2)
    this.write(OPCODE.close, [payload])
    this.socket.end()
    setTimeout(() => this.socket.destroy(), this.options.closeMs ?? DEFAULT_CLOSE_MS).unref()
  }

  /** Who reads nothing sees no ping either, so that it is found here, long before as much waits for it as is allowed. */
  private look(): void {
    // What we do not read ourselves while its calls run may be the answer.
    if (this.isClosing || this.socket.isPaused()) return
    const isWithin = this.reader.isWithin()
    if (!this.isAlive) return void this.drop(this.reasonForSilence())
    if (isWithin && this.wasWithin) return void this.drop('takes too long to send a message')
    this.isAlive = false
    this.wasWithin = isWithin
    this.write(OPCODE.ping, [])
  }

  private reasonForSilence(): string {
    const unread = this.unreadBytes
    return unread === 0 ? 'answers no ping' : `reads too slowly: ${unread} bytes wait, and no ping is answered`
  }

  /** Should it read on at once, it learns why. */
  private drop(reason: string): void {
    this.options.onDropped?.(reason)
    this.close(CLOSE.policy, reason)
  }

  private onControl(opcode: number, payload: Uint8Array): void {
    if (opcode === OPCODE.ping) this.write(OPCODE.pong, [payload])
    if (opcode === OPCODE.close) this.close(CLOSE.normal, '')
  }

  private onMessage(bytes: Uint8Array): void {
    if (this.isClosing) return
    this.wasWithin = false
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
    if (this.running >= MAX_CALLS) this.socket.pause()
    else this.socket.resume()
  }

  private async answer(message: Uint8Array): Promise<void> {
    const begun: Hex[] = []
    const call: CallContext = createCallContext({
      timeoutMs: this.options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS,
      clientGone: () => this.gone.signal,
      foreignOrigin: this.client.foreignOrigin,
      lacksToken: this.client.lacksToken,
      subscriber: this.subscriber(begun),
    })
    try {
      const pieces = await this.handle(message, call)
      if (pieces !== undefined) this.write(OPCODE.text, pieces)
      for (const id of begun) this.flush(id)
    } catch {
      // The client has gone while its answer was written.
      this.socket.destroy()
    } finally {
      call.end()
    }
  }

  private handle(message: Uint8Array, call: CallContext): Promise<Pieces | undefined> {
    const { answerLarge, dispatcher } = this.options
    if (answerLarge === undefined || message.length <= LARGE_BODY_BYTES) {
      return dispatcher.handle(Buffer.from(message.buffer, message.byteOffset, message.length).toString(), call)
    }
    const { largeMessages } = this.shared
    if (largeMessages.waiting < MAX_WAITING_MESSAGES) {
      return largeMessages.run(async () => (this.isClosing ? undefined : answerLarge(message, call)))
    }
    this.close(CLOSE.tooBig, 'too many large messages at once')
    return Promise.resolve(undefined)
  }

  private subscriber(begun: Hex[]): Subscriber {
    const max = this.options.maxSubscriptions ?? DEFAULT_MAX_SUBSCRIPTIONS
    return {
      subscribe: (start) => {
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
    this.write(OPCODE.text, [head, content, '}}'])
  }

  /** A client that does not read what it asked for is dropped: all of it waits in memory. */
  private write(opcode: number, pieces: Pieces): void {
    if (!this.socket.writable) return
    const length = sizeOf(pieces)
    const max = this.options.maxUnreadBytes ?? DEFAULT_MAX_UNREAD_BYTES
    const reason = opcode === OPCODE.close ? undefined : this.reasonToDrop(length, max)
    if (reason !== undefined) return void this.drop(reason)
    this.socket.cork()
    this.socket.write(frameHead(opcode, length))
    for (const piece of pieces) this.socket.write(piece)
    this.socket.uncork()
  }

  private reasonToDrop(length: number, max: number): string | undefined {
    const unread = this.unreadBytes + length
    if (unread > max) return `reads too slowly: more than ${max} bytes wait for it`
    if (unread <= MEBIBYTE || this.shared.unreadOfAll() + length <= max * UNREAD_OF_ALL) return undefined
    return 'reads too slowly, as others do: there is no room left'
  }
}
