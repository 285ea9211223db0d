import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { type Clock, systemClock, unixSeconds } from '../clock.ts'
import { UsageError } from '../errors.ts'
import { checkJwt } from '../jwt.ts'
import { listenProblem } from '../listenProblem.ts'
import { createSlots } from '../slots.ts'
import { createCallContext } from './callContext.ts'
import { hostCheck } from './hostCheck.ts'
import { foreignOrigin } from './originCheck.ts'
import { joinPieces } from './pieces.ts'
import { readBodyText } from './requestBody.ts'
import type { RpcDispatcher } from './server.ts'
import { serveWebSockets, type WebSocketOptions } from './webSocketServer.ts'

export interface RpcAppOptions {
  dispatcher: RpcDispatcher
  /** Answer of GET /healthz. Absent: no such path. */
  version?: string
  /** Demands the Engine API's bearer token. */
  jwtSecret?: Uint8Array
  /** Origins that browsers may call from; absent: none. */
  corsOrigin?: string | string[]
  /** Origins whose web pages count as our own, beside those of this machine (see foreignOrigin). */
  trustedOrigins?: readonly string[]
  /** Host names that requests may be addressed to (see hostCheck); absent: any. */
  allowedHosts?: readonly string[]
  maxBodyBytes?: number
  /** Time a call may take before its context aborts. */
  timeoutMs?: number
  clock?: Clock
}

/** geth's and op-node's limit for a request body. */
const DEFAULT_MAX_BODY_BYTES = 5 * 1024 * 1024
const DEFAULT_CALL_TIMEOUT_MS = 60_000
/**
 * A body of megabytes takes several times as much until it is answered: of strangers' so many are read at once, while the
 * others wait in their sockets.
 */
const LARGE_BODY_BYTES = 256 * 1024
const MAX_LARGE_BODIES = 2
const MAX_WAITING_BODIES = 64

/** JSON-RPC at `/` as a Hono app; callers may add routes of their own (metrics, dashboard). */
export function createRpcApp(options: RpcAppOptions): Hono {
  const { dispatcher, jwtSecret, clock = systemClock } = options
  const app = new Hono()
  if (options.allowedHosts !== undefined) app.use('*', hostCheck(options.allowedHosts))
  if (options.corsOrigin !== undefined) {
    const preflight = cors({ origin: options.corsOrigin })
    // Calls have the headers set by hand: the library makes a Response first, which costs as much as the rest of a small call.
    app.use('*', async (context, next) => (context.req.method === 'POST' ? next() : preflight(context, next)))
  }
  if (options.version !== undefined) {
    const health = { version: options.version }
    app.get('/healthz', (context) => context.json(health))
    app.get('/healthz/', (context) => context.json(health))
  }
  const limit = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  const tooLarge = `request body is larger than ${limit} bytes`
  app.post('/', async (context) => {
    const origin = allowedOrigin(options.corsOrigin, context.req.header('origin'))
    if (origin !== undefined) context.header('access-control-allow-origin', origin)
    if (options.corsOrigin !== undefined && options.corsOrigin !== '*') context.header('vary', 'Origin')
    // Browsers send any other type across origins without asking first: a web page could call admin methods on loopback.
    if (!/^application\/json\b/i.test(context.req.header('content-type') ?? '')) {
      return context.text('invalid content type, only application/json is supported', 415)
    }
    if (jwtSecret !== undefined) {
      const header = context.req.header('authorization') ?? ''
      const problem = header.startsWith('Bearer ')
        ? checkJwt(jwtSecret, header.slice(7), unixSeconds(clock))
        : 'missing token'
      if (problem !== undefined) return context.text(problem, 401)
    }
    const announced = Number(context.req.header('content-length') ?? Number.NaN)
    // Who does not say how long a body is may send a long one.
    const answer = () => readAndAnswer(context)
    if (jwtSecret !== undefined || announced <= LARGE_BODY_BYTES) return answer()
    if (largeBodies.waiting >= MAX_WAITING_BODIES) return context.text('too many large requests at once', 503)
    return largeBodies.run(answer)
  })
  const largeBodies = createSlots(MAX_LARGE_BODIES)
  const readAndAnswer = async (context: Context): Promise<Response> => {
    // What the headers forbid is not read at all: a body may have many megabytes.
    const body = await readBodyText(context, limit)
    if (body === 'too-large') return context.text(tooLarge, 413)
    const call = createCallContext({
      timeoutMs: options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS,
      clientGone: () => context.req.raw.signal,
      foreignOrigin: foreignOrigin(context.req.header('origin'), options.trustedOrigins ?? []),
    })
    try {
      const answer = await dispatcher.handle(body, call)
      if (answer === undefined) return context.body(null, 204)
      return context.body(await joinPieces(answer), 200, { 'content-type': 'application/json' })
    } finally {
      call.end()
    }
  }
  app.get('/', (context) => context.text('JSON-RPC: use POST with a JSON body', 405))
  return app
}

/** Whose pages may read an answer to a page of `origin`. */
function allowedOrigin(allowed: RpcAppOptions['corsOrigin'], origin: string | undefined): string | undefined {
  if (allowed === '*') return '*'
  return origin !== undefined && [allowed].flat().includes(origin) ? origin : undefined
}

/** Where nothing but WebSockets is served. */
export function createUpgradeApp(): Hono {
  const app = new Hono()
  app.all('*', (context) => context.text('this port is for WebSockets', 426))
  return app
}

export interface HttpServerHandle {
  /** http://host:port as really bound. */
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

export interface ServeOptions {
  /** For a client to read its answer. */
  readingTimeoutMs?: number
  /** Absent: none are served. */
  webSockets?: WebSocketOptions | undefined
}

/** Binds the app. A port in use is a UsageError naming the flag the caller gives in `what`, for example `--rpc.port`. */
export async function serveApp(
  app: Pick<Hono, 'fetch'>,
  host: string,
  port: number,
  what: string,
  { readingTimeoutMs = 60_000, webSockets }: ServeOptions = {},
): Promise<HttpServerHandle> {
  const server = createServer(getRequestListener(app.fetch))
  const endWebSockets = webSockets === undefined ? () => {} : serveWebSockets(server, webSockets)
  server.prependListener('request', (_request, response) => boundReading(response, readingTimeoutMs))
  // Bounds a slow writer; calls themselves are bounded by their own timeout.
  server.requestTimeout = 60_000
  server.headersTimeout = 10_000
  await listen(server, host, port, what)
  const bound = (server.address() as AddressInfo).port
  const shown = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${shown}:${bound}`,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        endWebSockets()
        server.closeIdleConnections()
        // Callers in the middle of an answer get a moment; a stream that never ends does not hold up the stop.
        setTimeout(() => server.closeAllConnections(), 500).unref()
      }),
  }
}

/** A client that does not read its answer would keep it in memory, and the socket open, for ever. */
function boundReading(response: ServerResponse, timeoutMs: number): void {
  response.once('prefinish', () => {
    const timer = setTimeout(() => response.destroy(), timeoutMs).unref()
    response.once('close', () => clearTimeout(timer))
  })
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
