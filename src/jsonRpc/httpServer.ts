import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { UsageError } from '../lib/errors.ts'
import { listenProblem } from '../lib/listenProblem.ts'
import { whenAborted } from '../lib/untilAborted.ts'
import type { CallEnv } from './bodies.ts'
import { hostCheck } from './hostCheck.ts'
import { createCallRoute, type HttpCallOptions } from './httpCalls.ts'
import { allowedOrigin } from './originCheck.ts'
import { boundUnread, DEFAULT_UNREAD_LIMITS, type UnreadLimits } from './unreadAnswers.ts'
import { serveWebSockets, type WebSocketOptions } from './webSocketServer.ts'

export interface RpcAppOptions extends HttpCallOptions {
  /** Answer of GET /healthz. Absent: no such path. */
  version?: string
  /** Origins that browsers may call from (see isOriginListed); absent: none. */
  corsOrigins?: readonly string[]
  /** Host names that requests may be addressed to (see createHostCheck); absent: any. */
  allowedHosts?: readonly string[]
}

/** JSON-RPC at `/`; callers may add routes of their own (metrics, dashboard). */
export function createRpcApp(options: RpcAppOptions): Hono {
  const app = new Hono()
  if (options.allowedHosts !== undefined) app.use('*', hostCheck(options.allowedHosts))
  const { corsOrigins } = options
  if (corsOrigins !== undefined) {
    app.options('*', cors({ origin: (asked) => allowedOrigin(corsOrigins, asked) }))
    app.use('*', shareWith(corsOrigins))
  }
  if (options.version !== undefined) {
    const health = { version: options.version }
    app.get('/healthz', (context) => context.json(health))
    app.get('/healthz/', (context) => context.json(health))
  }
  app.get('/', (context) => context.text('JSON-RPC: use POST with a JSON body', 405))
  app.route('/', createCallRoute(options))
  return app
}

/** Says which origins' pages may read the answer: on the response itself, a part of which may leave before its end. */
function shareWith(corsOrigins: readonly string[]): MiddlewareHandler<CallEnv> {
  return ({ env: { incoming, outgoing } }, next) => {
    const origin = allowedOrigin(corsOrigins, incoming.headers.origin)
    if (origin !== undefined) outgoing.setHeader('access-control-allow-origin', origin)
    if (origin !== '*') outgoing.setHeader('vary', 'Origin')
    return next()
  }
}

/** Where nothing but WebSockets is served. */
export function createUpgradeApp(): Pick<Hono, 'fetch'> {
  return new Hono().all('*', (context) => context.text('this port is for WebSockets', 426))
}

export interface HttpServerHandle {
  /** http://host:port as really bound. */
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

export interface ServeOptions extends Partial<UnreadLimits> {
  /** Absent: none are served. */
  webSockets?: WebSocketOptions | undefined
  /** Closes it. */
  signal?: AbortSignal | undefined
}

/**
 * For a connection without a request; geth has the same. Node's 5 s are shorter than clients count on: where one sends the
 * next request as the connection is being closed, the call fails, and none but it can know whether it may be made again.
 */
const IDLE_MS = 120_000

/** Binds the app. A port in use is a UsageError naming the flag the caller gives in `what`, for example `--rpc.port`. */
export async function serveApp(
  app: Pick<Hono, 'fetch'>,
  host: string,
  port: number,
  what: string,
  { signal, ...options }: ServeOptions = {},
): Promise<HttpServerHandle> {
  const { server, close } = createAppServer(app, options)
  const { port: bound, url } = await listen(server, host, port, what)
  whenAborted(signal, () => void close())
  return { url, port: bound, close }
}

export interface InjectedServer {
  /** Serves a connection that another process has accepted. */
  take(socket: Socket): void
  close(): void
}

/** Serves the app on connections that are given to it. */
export function serveInjected(app: Pick<Hono, 'fetch'>, options: Omit<ServeOptions, 'signal'>): InjectedServer {
  const { server, close } = createAppServer(app, options)
  // With this event Node begins to watch how long clients take to send a request.
  server.emit('listening')
  return {
    take(socket) {
      // As http.Server asks of the sockets that it accepts itself.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      server.emit('connection', socket)
      socket.resume()
    },
    close: () => void close(),
  }
}

function createAppServer(app: Pick<Hono, 'fetch'>, { webSockets, ...unreadLimits }: Omit<ServeOptions, 'signal'>) {
  const answer = listenerOf(app)
  const watchReading = boundUnread({ ...DEFAULT_UNREAD_LIMITS, ...unreadLimits })
  const server = createServer((request, response) => {
    watchReading(response)
    answer(request, response)
  })
  const endWebSockets = webSockets === undefined ? () => {} : serveWebSockets(server, webSockets)
  server.keepAliveTimeout = IDLE_MS
  // Bounds a slow writer; calls themselves are bounded by their own timeout.
  server.requestTimeout = 60_000
  server.headersTimeout = 10_000
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve())
      endWebSockets()
      server.closeIdleConnections()
      // Callers in the middle of an answer get a moment; a stream that never ends does not hold up the stop.
      setTimeout(() => server.closeAllConnections(), 500).unref()
    })
    return closing
  }
  return { server, close }
}

function listenerOf({ fetch }: Pick<Hono, 'fetch'>): RequestListener {
  const listener = getRequestListener(async (request, env) => {
    const response = await fetch(request, env)
    // Hono puts the headers of middleware into a new response, which the server would send.
    return env.outgoing.headersSent ? RESPONSE_ALREADY_SENT.clone() : response
  })
  return (request, response) => void listener(request, response)
}

/** A port in use is a UsageError naming the flag in `what`. */
export async function listen(
  server: NetServer,
  host: string,
  port: number,
  what: string,
): Promise<{ url: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const problem = listenProblem(cause.code ?? '') ?? cause.message
      reject(new UsageError(`cannot listen on ${host}:${port} (${what}): ${problem}`, { cause }))
    })
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, port: bound }
}
