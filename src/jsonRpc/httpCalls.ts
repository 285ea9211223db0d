import { once } from 'node:events'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { EMPTY_BYTES } from '../lib/bytes.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { createBearerCheck } from '../lib/jwt.ts'
import { createTokenCheck, type TokenAccess } from './bearerToken.ts'
import { type CallEnv, readBody } from './bodies.ts'
import { type BodyChunks, sizeOf } from './bodyChunks.ts'
import { type CallContext, createCallContext } from './callContext.ts'
import { foreignOrigin } from './originCheck.ts'
import type { RpcDispatcher } from './server.ts'

export interface HttpCallOptions {
  dispatcher: RpcDispatcher
  /** If set, requests need the Engine API's bearer token. */
  jwtSecret?: Uint8Array
  /** Trusted origins of web pages, in addition to this machine's (see `foreignOrigin`). */
  trustedOrigins?: readonly string[]
  /** Absent: no token is needed. */
  access?: TokenAccess | undefined
  maxBodyBytes?: number
  /** Time limit of a call; then its context aborts. */
  timeoutMs?: number
  clock?: Clock
}

type Outgoing = HttpBindings['outgoing']

/** The limit of geth and op-node for a request body. */
const DEFAULT_MAX_BODY_BYTES = 5 * 1024 * 1024
const DEFAULT_CALL_TIMEOUT_MS = 60_000
const decoder = new TextDecoder()

/** The route of JSON-RPC calls. Headers are checked before the body is read, because the body may have megabytes. */
export function createCallRoute(options: HttpCallOptions): Hono<CallEnv> {
  const { dispatcher, jwtSecret, access, trustedOrigins = [], timeoutMs, clock = systemClock } = options
  const hasToken = access === undefined ? () => true : createTokenCheck(access)
  const checks = [jsonOnly]
  if (jwtSecret !== undefined) checks.push(requireJwt(jwtSecret, clock))
  if (access?.guardsReading) checks.push(requireToken(hasToken))
  checks.push(
    readBody(options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES, jwtSecret === undefined ? 1 : Number.POSITIVE_INFINITY),
  )
  const route = new Hono<CallEnv>()
  for (const check of checks) route.post('/', check)
  route.post('/', async (context) => {
    const { incoming, outgoing } = context.env
    const { origin, host, authorization } = incoming.headers
    const call: CallContext = createCallContext({
      timeoutMs: timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS,
      clientDisconnected: () => disconnectSignal(outgoing),
      foreignOrigin: foreignOrigin(origin, trustedOrigins, host),
      lacksToken: !hasToken(authorization),
      sendPart: (part) => sendPart(outgoing, part, call.signal),
    })
    try {
      return respond(outgoing, await dispatcher.handle(decoder.decode(takeBody(context)), call))
    } catch {
      if (!outgoing.headersSent) return context.text('Internal Server Error', 500)
      outgoing.destroy()
      return RESPONSE_ALREADY_SENT
    } finally {
      call.end()
    }
  })
  return route
}

/**
 * Browsers send other content types to another origin without a preflight. Then a web page could call admin methods on
 * loopback.
 */
const jsonOnly: MiddlewareHandler<CallEnv> = async (context, next) => {
  const isJson = /^application\/json\b/i.test(context.env.incoming.headers['content-type'] ?? '')
  return isJson ? next() : context.text('invalid content type, only application/json is supported', 415)
}

function requireJwt(secret: Uint8Array, clock: Clock): MiddlewareHandler<CallEnv> {
  const check = createBearerCheck(secret, clock)
  return async (context, next) => {
    const problem = check(context.env.incoming.headers.authorization)
    return problem === undefined ? next() : context.text(problem, 401)
  }
}

function requireToken(hasToken: (authorization: string | undefined) => boolean): MiddlewareHandler<CallEnv> {
  return async (context, next) =>
    hasToken(context.env.incoming.headers.authorization) ? next() : context.text('missing or wrong token', 401)
}

/** Releases the body, so that a pending call does not keep it in memory. */
function takeBody(context: Context<CallEnv>): Uint8Array {
  const body = context.get('body')
  context.set('body', EMPTY_BYTES)
  return body
}

function respond(outgoing: Outgoing, chunks: BodyChunks | undefined): Response {
  if (chunks === undefined) return new Response(null, { status: 204 })
  const [first, second] = chunks
  if (!outgoing.headersSent) {
    if (typeof first === 'string' && second === undefined) return new Response(first, { headers: JSON_TYPE })
    // Chunk by chunk: joining an answer of 25 MB would hold it in memory twice.
    outgoing.writeHead(200, { ...JSON_TYPE, 'content-length': String(sizeOf(chunks)) })
  }
  for (const chunk of chunks) outgoing.write(chunk)
  outgoing.end()
  return RESPONSE_ALREADY_SENT
}

const JSON_TYPE = { 'content-type': 'application/json' }

/**
 * Sends parts of a long answer while the rest is generated, as fast as the client reads. The total length is unknown,
 * so the response is chunked.
 */
async function sendPart(outgoing: Outgoing, part: BodyChunks, signal: AbortSignal): Promise<void> {
  if (!outgoing.headersSent) outgoing.writeHead(200, JSON_TYPE)
  for (const chunk of part) outgoing.write(chunk)
  if (outgoing.writableNeedDrain && !signal.aborted) await once(outgoing, 'drain', { signal }).catch(() => {})
}

/** Aborts if the connection closes before the answer is sent. */
function disconnectSignal(response: Outgoing): AbortSignal {
  const disconnected = new AbortController()
  const leave = () => {
    if (!response.writableFinished) disconnected.abort(new Error('the client has disconnected'))
  }
  if (response.closed) leave()
  else response.once('close', leave)
  return disconnected.signal
}
