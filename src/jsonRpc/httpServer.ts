import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { UsageError } from '../lib/errors.ts'
import { listenProblem } from '../lib/listenProblem.ts'
import { whenAborted } from '../lib/untilAborted.ts'
import { hostCheck } from './hostCheck.ts'
import { createCallListener, type HttpCallOptions } from './httpCalls.ts'
import { allowedOrigin } from './originCheck.ts'
import { boundUnread, DEFAULT_UNREAD_LIMITS, type UnreadLimits } from './unreadAnswers.ts'
import { serveWebSockets, type WebSocketOptions } from './webSocketServer.ts'

export interface RpcAppOptions extends HttpCallOptions {
  /** Answer of GET /healthz. Absent: no such path. */
  version?: string
}

/** What a port serves. */
export interface ServedApp {
  /** Of the calls at `/`; absent: there are none. */
  calls?: RequestListener
  /** Of everything else. */
  routes: Pick<Hono, 'fetch'>
}

/** JSON-RPC at `/`; callers may add routes of their own (metrics, dashboard). */
export function createRpcApp(options: RpcAppOptions): ServedApp & { routes: Hono } {
  const routes = new Hono()
  if (options.allowedHosts !== undefined) routes.use('*', hostCheck(options.allowedHosts))
  const { corsOrigins } = options
  if (corsOrigins !== undefined) {
    const origin = corsOrigins.includes('*') ? '*' : (asked: string) => allowedOrigin(corsOrigins, asked)
    routes.use('*', cors({ origin }))
  }
  if (options.version !== undefined) {
    const health = { version: options.version }
    routes.get('/healthz', (context) => context.json(health))
    routes.get('/healthz/', (context) => context.json(health))
  }
  routes.get('/', (context) => context.text('JSON-RPC: use POST with a JSON body', 405))
  return { calls: createCallListener(options), routes }
}

/** Where nothing but WebSockets is served. */
export function createUpgradeApp(): ServedApp {
  const routes = new Hono()
  routes.all('*', (context) => context.text('this port is for WebSockets', 426))
  return { routes }
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
  app: ServedApp,
  host: string,
  port: number,
  what: string,
  { webSockets, signal, ...unreadLimits }: ServeOptions = {},
): Promise<HttpServerHandle> {
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
  await listen(server, host, port, what)
  const bound = (server.address() as AddressInfo).port
  const shown = host.includes(':') ? `[${host}]` : host
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
  whenAborted(signal, () => void close())
  return { url: `http://${shown}:${bound}`, port: bound, close }
}

function listenerOf({ calls, routes }: ServedApp): RequestListener {
  const others = getRequestListener(routes.fetch)
  if (calls === undefined) return others
  return (request, response) => {
    const isCall = request.method === 'POST' && isRoot(request.url ?? '')
    return isCall ? calls(request, response) : void others(request, response)
  }
}

/** Proxies may name the whole URL (RFC 9112, section 3.2.2). */
function isRoot(url: string): boolean {
  return url === '/' || /^(https?:\/\/[^/?#]*)?\/?(\?|$)/i.test(url)
}

function listen(server: Server, host: string, port: number, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const problem = listenProblem(cause.code ?? '') ?? cause.message
      reject(new UsageError(`cannot listen on ${host}:${port} (${what}): ${problem}`, { cause }))
    })
    server.listen(port, host, () => resolve())
  })
}
