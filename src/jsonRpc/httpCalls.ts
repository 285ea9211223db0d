import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Clock, systemClock, unixSeconds } from '../lib/clock.ts'
import { createJwtCheck } from '../lib/jwt.ts'
import { createSlots } from '../lib/slots.ts'
import { createTokenCheck, type TokenAccess } from './bearerToken.ts'
import { type CallContext, createCallContext, type RpcContext } from './callContext.ts'
import { createHostCheck } from './hostCheck.ts'
import { allowedOrigin, foreignOrigin } from './originCheck.ts'
import { type Pieces, sizeOf } from './pieces.ts'
import { type BodyPause, readBody } from './requestBody.ts'
import type { RpcDispatcher } from './server.ts'

/** Answers a body, which is nobody else's from then on. */
export type AnswerLarge = (body: Uint8Array, context: RpcContext) => Promise<Pieces | undefined>

export interface HttpCallOptions {
  dispatcher: RpcDispatcher
  /** Answers strangers' large bodies as the dispatcher would, without its turns of the event loop. Absent: the dispatcher does. */
  answerLarge?: AnswerLarge
  /** Demands the Engine API's bearer token. */
  jwtSecret?: Uint8Array
  /** Origins that browsers may call from (see isOriginListed); absent: none. */
  corsOrigins?: readonly string[]
  /** Origins whose web pages count as our own, beside those of this machine (see foreignOrigin). */
  trustedOrigins?: readonly string[]
  /** Host names that requests may be addressed to (see createHostCheck); absent: any. */
  allowedHosts?: readonly string[]
  /** Absent: no token is needed. */
  access?: TokenAccess | undefined
  maxBodyBytes?: number
  /** Time a call may take before its context aborts. */
  timeoutMs?: number
  clock?: Clock
}

/** geth's and op-node's limit for a request body. */
const DEFAULT_MAX_BODY_BYTES = 5 * 1024 * 1024
const DEFAULT_CALL_TIMEOUT_MS = 60_000
/**
 * A body of megabytes takes several times as much until it is answered: of strangers' one is read at a time, while the
 * others wait in their sockets.
 */
export const LARGE_BODY_BYTES = 256 * 1024
const MAX_LARGE_BODIES = 1
const MAX_WAITING_BODIES = 64
const decoder = new TextDecoder()
/** For a client to end a body that nobody reads. */
const UNREAD_BODY_MS = 500

/**
 * Answers JSON-RPC calls, which come by POST. It stands on node:http alone: the Request and Response of a web framework cost as
 * much as all the rest of a small call.
 */
export function createCallListener(options: HttpCallOptions): RequestListener {
  const { dispatcher, answerLarge, jwtSecret, corsOrigins, clock = systemClock } = options
  const limit = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  const isHostAllowed = createHostCheck(options.allowedHosts ?? ['*'])
  const { access } = options
  const hasToken = access === undefined ? () => true : createTokenCheck(access)
  const checkJwt = jwtSecret === undefined ? undefined : createJwtCheck(jwtSecret)
  const largeBodies = createSlots(MAX_LARGE_BODIES)

  const answerBody = (request: IncomingMessage, response: ServerResponse, body: Uint8Array): Promise<void> => {
    const call: CallContext = createCallContext({
      timeoutMs: options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS,
      clientGone: () => goneSignal(response),
      foreignOrigin: foreignOrigin(request.headers.origin, options.trustedOrigins ?? [], request.headers.host),
      lacksToken: !hasToken(request.headers.authorization),
      sendPart: (part) => sendPart(response, part, call.signal),
    })
    // What waits for the answer does not have the body.
    const answer =
      answerLarge !== undefined && jwtSecret === undefined && body.length > LARGE_BODY_BYTES
        ? answerLarge(body, call)
        : dispatcher.handle(decoder.decode(body), call)
    return send(answer, call, request, response)
  }
  const readAndAnswer = (
    request: IncomingMessage,
    response: ServerResponse,
    { onAnswered = () => {}, pause }: { onAnswered?: () => void; pause?: BodyPause } = {},
  ): void => {
    const onBody = (body: Uint8Array | 'too-large') => {
      if (body !== 'too-large') return void answerBody(request, response, body).then(onAnswered)
      refuse(request, response, 413, `request body is larger than ${limit} bytes`)
      onAnswered()
    }
    readBody(request, limit, onBody, pause)
  }
  /** Has its turn until `onAnswered` is called, or the client has gone; false when it is refused. */
  const whenLargeMay = (
    request: IncomingMessage,
    response: ServerResponse,
    begin: (onAnswered: () => void) => void,
  ): boolean => {
    if (largeBodies.waiting >= MAX_WAITING_BODIES) {
      refuse(request, response, 503, 'too many large requests at once')
      return false
    }
    const untilAnswered = (resolve: () => void) => {
      if (response.closed) return resolve()
      response.once('close', resolve)
      begin(resolve)
    }
    void largeBodies.run(() => new Promise<void>(untilAnswered))
    return true
  }
  /** Of a body whose length nobody has told, which may show to be large. */
  const readUnknown = (request: IncomingMessage, response: ServerResponse): void => {
    let onAnswered = () => {}
    const wait = (resume: () => void) =>
      whenLargeMay(request, response, (done) => {
        onAnswered = done
        resume()
      })
    readAndAnswer(request, response, { onAnswered: () => onAnswered(), pause: { bytes: LARGE_BODY_BYTES, wait } })
  }

  return (request, response) => {
    const { headers } = request
    if (!isHostAllowed(headers.host)) return refuse(request, response, 403, 'invalid host specified')
    if (corsOrigins !== undefined) {
      const origin = allowedOrigin(corsOrigins, headers.origin)
      if (origin !== undefined) response.setHeader('access-control-allow-origin', origin)
      if (origin !== '*') response.setHeader('vary', 'Origin')
    }
    // Browsers send any other type across origins without asking first: a web page could call admin methods on loopback.
    if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) {
      return refuse(request, response, 415, 'invalid content type, only application/json is supported')
    }
    // What the headers forbid is not read at all: a body may have many megabytes.
    if (checkJwt !== undefined) {
      const { authorization = '' } = headers
      const problem = authorization.startsWith('Bearer ')
        ? checkJwt(authorization.slice(7), unixSeconds(clock))
        : 'missing token'
      if (problem !== undefined) return refuse(request, response, 401, problem)
    }
    if (access?.guardsReading && !hasToken(headers.authorization)) {
      return refuse(request, response, 401, 'missing or wrong token')
    }
    const { 'content-length': announced } = headers
    if (jwtSecret !== undefined || Number(announced) <= LARGE_BODY_BYTES) readAndAnswer(request, response)
    else if (announced === undefined) readUnknown(request, response)
    else whenLargeMay(request, response, (onAnswered) => readAndAnswer(request, response, { onAnswered }))
  }
}

async function send(
  answer: Promise<Pieces | undefined>,
  call: CallContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const pieces = await answer
    if (pieces === undefined) {
      response.writeHead(204).end()
      return
    }
    const size = sizeOf(pieces)
    // A long batch's first answers have gone ahead.
    if (!response.headersSent) {
      response.writeHead(200, ['content-type', 'application/json', 'content-length', String(size)])
    }
    // As they are: put together, an answer of 25 MB would be in memory twice.
    const [first, ...others] = pieces
    if (others.length === 0) {
      const isAscii = typeof first === 'string' && first.length === size
      response.end(first, isAscii ? 'latin1' : 'utf8')
      return
    }
    for (const piece of pieces) response.write(piece)
    response.end()
  } catch {
    refuse(request, response, 500, 'Internal Server Error')
  } finally {
    call.end()
  }
}

/** Long answers leave while the rest is written, as fast as the client reads, in chunks since nobody knows their length. */
async function sendPart(response: ServerResponse, part: Pieces, signal: AbortSignal): Promise<void> {
  if (!response.headersSent) response.writeHead(200, ['content-type', 'application/json'])
  for (const piece of part) response.write(piece)
  if (response.writableNeedDrain && !signal.aborted) await once(response, 'drain', { signal }).catch(() => {})
}

/** Aborts when the connection closes before the answer is sent. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const leave = () => {
    if (!response.writableFinished) gone.abort(new Error('the client has gone'))
  }
  if (response.closed) leave()
  else response.once('close', leave)
  return gone.signal
}

function refuse(request: IncomingMessage, response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return void response.destroy()
  // What is left of the body has to pass before the next request on this connection.
  response.once('finish', () => {
    if (request.readableEnded) return
    const timer = setTimeout(() => request.socket.destroySoon(), UNREAD_BODY_MS).unref()
    request.once('close', () => clearTimeout(timer)).resume()
  })
  response
    .writeHead(status, { 'content-type': 'text/plain;charset=UTF-8', 'content-length': Buffer.byteLength(text) })
    .end(text)
}
