import { createServer } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
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
  /** Version in the response of GET /healthz. Absent: the path does not exist. */
  version?: string
  /** Origins from which browsers may call (see `isOriginListed`). Absent: none. */
  corsOrigins?: readonly string[]
  /** Allowed host names (see `createHostCheck`). Absent: any. */
  allowedHosts?: readonly string[]
}

/** JSON-RPC at `/`. Callers may add other routes (metrics, dashboard). */
export function createRpcApp(options: RpcAppOptions): Hono {
  const app = new Hono()
  if (options.allowedHosts !== undefined) app.use('*', hostCheck(options.allowedHosts))
  const { corsOrigins } = options
  if (corsOrigins !== undefined) {
    app.options('*', cors({ origin: (origin) => allowedOrigin(corsOrigins, origin) }))
    app.use('*', shareWith(corsOrigins))
  }
  if (options.version !== undefined) {
    const health = { version: options.version }
    app.get('/healthz', (context) => context.json(health))
    app.get('/healthz/', (context) => context.json(health))
  }
  // Status 200, as geth's server answers: load balancers take it for the answer of a health check.
  app.get('/', (context) => context.text('JSON-RPC: use POST with a JSON body'))
  app.route('/', createCallRoute(options))
  return app
}

/** Sets the CORS headers on the raw response, because a part of the answer may be sent before its end. */
function shareWith(corsOrigins: readonly string[]): MiddlewareHandler<CallEnv> {
  return ({ env: { incoming, outgoing } }, next) => {
    const origin = allowedOrigin(corsOrigins, incoming.headers.origin)
    if (origin !== undefined) outgoing.setHeader('access-control-allow-origin', origin)
    if (origin !== '*') outgoing.setHeader('vary', 'Origin')
    return next()
  }
}

/** For a port that serves only WebSockets. */
export function createUpgradeApp(): Pick<Hono, 'fetch'> {
  return new Hono().all('*', (context) => context.text('this port serves WebSockets only', 426))
}

export interface HttpServerHandle {
  /** http://host:port with the bound port. */
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

export interface ServeOptions extends Partial<UnreadLimits> {
  /** Absent: WebSockets are not served. */
  webSockets?: WebSocketOptions | undefined
  /** Aborting closes the server. */
  signal?: AbortSignal | undefined
}

/**
 * Timeout of an idle connection, as in geth. Node's default of 5 s is shorter than clients expect. If a client sends a
 * request while the server closes the connection, the call fails. Only the client can know whether it may repeat the
 * call.
 */
const IDLE_MS = 120_000

/**
 * Binds the app to a port. If the port is in use, throws UsageError that names the flag in `what`, for example
 * `--rpc.port`.
 */
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

/** Serves the app on connections that the caller passes in. */
export function serveInjected(app: Pick<Hono, 'fetch'>, options: Omit<ServeOptions, 'signal'>): InjectedServer {
  const { server, close } = createAppServer(app, options)
  // After this event, Node enforces the time limits of requests.
  server.emit('listening')
  return {
    take(socket) {
      // The same settings as http.Server uses for its own sockets.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      server.emit('connection', socket)
      socket.resume()
    },
    close: () => void close(),
  }
}

function createAppServer(app: Pick<Hono, 'fetch'>, { webSockets, ...unreadLimits }: Omit<ServeOptions, 'signal'>) {
  const answer = getRequestListener(app.fetch)
  const watchReading = boundUnread({ ...DEFAULT_UNREAD_LIMITS, ...unreadLimits })
  const server = createServer((request, response) => {
    watchReading(response)
    answer(request, response)
  })
  const endWebSockets = webSockets === undefined ? () => {} : serveWebSockets(server, webSockets)
  server.keepAliveTimeout = IDLE_MS
  // Limits slow senders. Calls have their own time limit.
  server.requestTimeout = 60_000
  server.headersTimeout = 10_000
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve())
      endWebSockets()
      server.closeIdleConnections()
      // Answers in progress get a moment to finish. An endless stream does not delay the stop.
      setTimeout(() => server.closeAllConnections(), 500).unref()
    })
    return closing
  }
  return { server, close }
}

/** If the port is in use, throws UsageError that names the flag in `what`. */
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
