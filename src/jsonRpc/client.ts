import type { Agent, request } from 'undici'
import { type Clock, systemClock, timeoutSignal, unixSeconds } from '../lib/clock.ts'
import { DeviumError } from '../lib/errors.ts'
import { isBusyStatus } from '../lib/httpStatus.ts'
import { createJwt } from '../lib/jwt.ts'
import { redact, targetOf } from './credentials.ts'
import { hasMoreParts } from './jsonParts.ts'
import { JsonRpcError, type JsonValue } from './types.ts'

/** The transport failed: no answer arrived, or the answer is not JSON-RPC. Always temporary. */
export class RpcTransportError extends DeviumError<'rpc-transport' | 'rpc-timeout'> {
  override readonly name = 'RpcTransportError'
}

export interface RpcCall {
  method: string
  params: readonly unknown[]
}

export interface RequestOptions {
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
}

/** The interface that consumers use. Parameters must be JSON values. Results are unchecked JSON. */
export interface RpcClient {
  /** The address without secrets. */
  readonly url: string
  request(method: string, params: readonly unknown[], options?: RequestOptions): Promise<unknown>
  /** One HTTP request. Results are in the order of the calls. A failed call gives a JsonRpcError at its place. */
  batch(calls: readonly RpcCall[], options?: RequestOptions): Promise<(JsonValue | JsonRpcError)[]>
  close(): Promise<void>
}

/** Observes each call, including each call of a batch; for metrics. */
export interface RpcClientObserver {
  onRequest(method: string, paramsBytes: number): void
  /**
   * Undefined: no answer arrived, or the answer is not JSON-RPC. The calls of a batch share the bytes of its answer.
   */
  onEnd(method: string, seconds: number, answer: { resultBytes: number } | { errorCode: number } | undefined): void
}

export interface RpcClientOptions {
  /** User and password of the URL become the authorization header, unless `headers` has one. */
  url: string
  /** Adds the Engine API's JWT to each request. */
  jwtSecret?: Uint8Array
  headers?: Record<string, string>
  /** PEM texts: the trusted authority instead of the system's, and this client's certificate and key. */
  tls?: { ca: string; cert: string; key: string }
  timeoutMs?: number
  /** A longer answer is rejected. The default is 128 MiB: the largest body of the Engine API, and undici's limit for WebSockets. */
  maxResponseBytes?: number
  clock?: Clock
  observer?: RpcClientObserver
}

const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_MAX_RESPONSE_BYTES = 128 * 1024 * 1024
/**
 * Maximum number of arrays, objects and members of an answer. The largest honest answers are the receipts of an L1
 * block that only emits logs: at 60 million gas, 158,000 logs of 12 parts in 58 MB. Anybody can fill a block so, and
 * the node must still read it, also with twice the gas. More parts would only hold the event loop for seconds.
 */
const MAX_ANSWER_PARTS = 4_000_000

/**
 * JSON-RPC over HTTP with keep-alive (undici takes a fifth of fetch's CPU time for a call). undici takes 10 MB and is
 * loaded with the first request, because an execution client may never send one.
 */
export function createRpcClient(options: RpcClientOptions): RpcClient {
  const { clock = systemClock, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const target = targetOf(options.url, options.headers)
  const url = redact(options.url)
  let http: Promise<{ request: typeof request; agent: Agent }> | undefined
  const openHttp = async () => {
    const { Agent, request } = await import('undici')
    const agent = new Agent({
      keepAliveTimeout: 60_000,
      connections: 32,
      pipelining: 1,
      maxResponseSize: options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
      ...(options.tls === undefined ? {} : { connect: options.tls }),
    })
    return { request, agent }
  }
  let nextId = 1
  let token: { value: string; issuedAt: number } | undefined

  const authorization = (): Record<string, string> => {
    if (options.jwtSecret === undefined) return {}
    const now = unixSeconds(clock)
    // A token is valid for a minute. Signing a token for every call would cost as much as the call.
    if (token === undefined || Math.abs(now - token.issuedAt) > 30) {
      token = { value: createJwt(options.jwtSecret, now), issuedAt: now }
    }
    return { authorization: `Bearer ${token.value}` }
  }

  const post = async (body: string, what: string, requestOptions: RequestOptions = {}): Promise<HttpAnswer> => {
    const limitMs = requestOptions.timeoutMs ?? timeoutMs
    // The first call loads the library. That is not the server's time.
    http ??= openHttp()
    const { request, agent } = await http
    const timeout = timeoutSignal(limitMs)
    const signal = requestOptions.signal ? AbortSignal.any([requestOptions.signal, timeout]) : timeout
    try {
      const response = await request(target.url, {
        method: 'POST',
        dispatcher: agent,
        headers: { 'content-type': 'application/json', ...target.headers, ...authorization() },
        body,
        signal,
      })
      const text = await response.body.text()
      // A busy server may report it in any format.
      const isRpc = text.startsWith('{') || text.startsWith('[')
      if (response.statusCode !== 200 && (!isRpc || isBusyStatus(response.statusCode))) {
        throw new RpcTransportError(
          'rpc-transport',
          `${what}: HTTP ${response.statusCode} from ${url}: ${text.slice(0, 200).trim()}`,
          { details: { status: response.statusCode } },
        )
      }
      return { json: parseAnswer(text, what), bytes: Buffer.byteLength(text) }
    } catch (cause) {
      if (cause instanceof RpcTransportError) throw cause
      requestOptions.signal?.throwIfAborted()
      if (timeout.aborted) {
        throw new RpcTransportError('rpc-timeout', `${what}: no answer from ${url} within ${limitMs} ms`, {
          cause,
        })
      }
      throw new RpcTransportError('rpc-transport', `${what}: request to ${url} failed`, { cause })
    }
  }

  const send = async (
    calls: readonly RpcCall[],
    asBatch: boolean,
    requestOptions: RequestOptions | undefined,
  ): Promise<(JsonValue | JsonRpcError)[]> => {
    const open = openCalls(calls, () => nextId++, options.observer)
    const [first] = calls
    const what = asBatch ? `batch of ${calls.length} (${first?.method})` : `${first?.method}`
    let results: (JsonValue | JsonRpcError)[] | undefined
    let resultBytes = 0
    try {
      const { json, bytes } = await post(bodyOf(open, asBatch), what, requestOptions)
      results = asBatch ? readBatch(json, open, what) : [unwrap(json, what)]
      const emptyBytes = open.reduce((sum, { id }) => sum + `{"jsonrpc":"2.0","id":${id},"result":}`.length, 0)
      resultBytes = Math.max(0, Math.round((bytes - emptyBytes) / calls.length))
      return results
    } finally {
      for (const [index, call] of open.entries()) call.end(results?.[index], resultBytes)
    }
  }

  return {
    url,
    async request(method, params, requestOptions) {
      const [result] = await send([{ method, params }], false, requestOptions)
      if (result instanceof JsonRpcError) throw result
      return result
    },
    batch: async (calls, requestOptions) => (calls.length === 0 ? [] : send(calls, true, requestOptions)),
    close: async () => (await http)?.agent.destroy(),
  }
}

/** Throws RpcTransportError for an answer of too many parts, and SyntaxError for other text than JSON. */
export function parseAnswer(text: string, what: string): unknown {
  if (!hasMoreParts(text, MAX_ANSWER_PARTS)) return JSON.parse(text)
  const message = `${what}: answer has more than ${MAX_ANSWER_PARTS} arrays, objects and members`
  throw new RpcTransportError('rpc-transport', message)
}

interface HttpAnswer {
  json: unknown
  bytes: number
}

/** A call that waits for its answer. */
export interface OpenCall {
  id: number
  method: string
  /** The request. */
  text: string
  /** Notifies the observer. `result` is undefined if no answer arrived. */
  end(result: JsonValue | JsonRpcError | undefined, resultBytes: number): void
}

export function openCalls(
  calls: readonly RpcCall[],
  nextId: () => number,
  observer: RpcClientObserver | undefined,
): OpenCall[] {
  const startMs = performance.now()
  return calls.map(({ method, params }) => {
    const id = nextId()
    const paramsText = JSON.stringify(params)
    observer?.onRequest(method, Buffer.byteLength(paramsText))
    return {
      id,
      method,
      text: `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${paramsText}}`,
      end(result, resultBytes) {
        const answer = result instanceof JsonRpcError ? { errorCode: result.rpcCode } : { resultBytes }
        observer?.onEnd(method, (performance.now() - startMs) / 1000, result === undefined ? undefined : answer)
      },
    }
  })
}

export function bodyOf(calls: readonly OpenCall[], asBatch: boolean): string {
  const body = calls.map(({ text }) => text).join()
  return asBatch ? `[${body}]` : body
}

function readBatch(answers: unknown, calls: readonly OpenCall[], what: string): (JsonValue | JsonRpcError)[] {
  // A server refuses a whole batch by one error. geth sends it as a list.
  const isRefusal = Array.isArray(answers) && answers.length === 1 && calls.length > 1
  if (!Array.isArray(answers) || isRefusal) {
    const error = unwrap(isRefusal ? answers[0] : answers, what)
    if (error instanceof JsonRpcError) throw error
    throw new RpcTransportError('rpc-transport', `${what}: answer is not a batch`)
  }
  const byId = new Map(answers.map((answer) => [answer?.id, answer]))
  return calls.map(({ id, method }) => unwrap(byId.get(id), method))
}

/** The result or the error of an answer. */
export function unwrap(answer: unknown, what: string): JsonValue | JsonRpcError {
  if (typeof answer !== 'object' || answer === null) {
    throw new RpcTransportError('rpc-transport', `${what}: answer is not a JSON-RPC response`)
  }
  if ('error' in answer && typeof answer.error === 'object' && answer.error !== null) {
    const { code, message, data } = answer.error as { code?: unknown; message?: unknown; data?: JsonValue }
    return new JsonRpcError(
      typeof code === 'number' ? code : -32603,
      String(message ?? 'unknown error'),
      data === undefined ? {} : { data },
    )
  }
  if (!('result' in answer))
    throw new RpcTransportError('rpc-transport', `${what}: answer has neither result nor error`)
  return answer.result as JsonValue
}

export function isBatchRefusal(error: unknown): boolean {
  if (error instanceof JsonRpcError) return true
  if (!(error instanceof RpcTransportError) || error.code !== 'rpc-transport') return false
  const { status } = error.details
  return error.message.endsWith('answer is not a batch') || status === 400 || status === 405 || status === 413
}
