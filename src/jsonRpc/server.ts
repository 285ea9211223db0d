import { type DeviumError, describeError, UsageError } from '../lib/errors.ts'
import { type Work, yieldToLoop } from '../lib/yieldToLoop.ts'
import { type BodyChunks, between, ChunkWriter, StreamedJson, serialize, writeInChunks } from './bodyChunks.ts'
import type { RpcContext, SendPart } from './callContext.ts'
import { hasMoreContainers, hasMoreParts } from './jsonParts.ts'
import { createStreamWriter } from './streamWriter.ts'
import {
  JsonRpcError,
  type JsonRpcId,
  type JsonValue,
  RPC_INTERNAL_ERROR,
  RPC_INVALID_PARAMS,
  RPC_INVALID_REQUEST,
  RPC_METHOD_NOT_FOUND,
  RPC_PARSE_ERROR,
  RPC_RESPONSE_TOO_LARGE,
  RPC_SERVER_ERROR,
  RPC_TIMED_OUT,
} from './types.ts'

/** A number in its original notation. */
interface RawJson {
  readonly rawJSON: string
}

declare global {
  // An ES2025 proposal that Node 24 implements but TypeScript's library does not declare.
  interface JSON {
    rawJSON(text: string): RawJson
    isRawJSON(value: unknown): value is RawJson
  }
}

/** One method. `params` are positional JSON values. The handler validates them (JsonRpcError -32602). */
export type RpcHandler = (params: readonly JsonValue[], context: RpcContext) => Promise<unknown> | unknown

/** Request and result of a call, for measuring their sizes. */
export interface CallContents {
  params: JsonValue | undefined
  /** As JSON text; undefined if the answer is an error or a StreamedJson. */
  result: BodyChunks | undefined
}

export const UNKNOWN_METHOD = 'unknown'

export interface RpcDispatcherOptions {
  methods: ReadonlyMap<string, RpcHandler>
  /**
   * Whether the method changes something. Clients without a required token may not call such a method. Absent: no
   * method does.
   */
  isChanging?: (method: string) => boolean
  /** Whether untrusted web pages may not call the method. Absent: they may call all methods. */
  isClosedToPages?: (method: string) => boolean
  maxBatchSize?: number
  /** Priority of the calls. The default `answer` gives way to work for blocks. */
  work?: Work
  /**
   * Called once for each answered call, for metrics and debug logs. Unknown methods are called UNKNOWN_METHOD: clients
   * choose their names. For a StreamedJson, the duration includes the time that the client took to read.
   */
  onCall?: (method: string, durationMs: number, error: JsonRpcError | undefined, contents: CallContents) => void
  /** Called for unexpected errors. The client gets -32603 without internal details. */
  onUnexpectedError?: (method: string, error: unknown) => void
}

/**
 * Turns the text of an HTTP body into the text of its answer. Returns undefined if there is no answer (notifications).
 * For a long answer, returns the part that the context has not sent yet. Rejects if an answer fails after a part has
 * been sent.
 */
export interface RpcDispatcher {
  handle(body: string, context: RpcContext): Promise<BodyChunks | undefined>
}

/** geth's limits for a batch: its calls, and the total length of its answers. */
const DEFAULT_MAX_BATCH_SIZE = 1000
const MAX_BATCH_ANSWER_LENGTH = 25_000_000
/**
 * Maximum number of arrays, objects and members in one body. Parsing millions of them takes a second, and no method
 * needs as many.
 */
const MAX_PARTS = 100_000
const LARGE_BODY_LENGTH = 262_144
/**
 * Maximum nesting of arrays and objects. JSON.parse accepts thousands of levels, but recursive code and JSON.stringify
 * do not.
 */
const MAX_DEPTH = 200

export function createRpcDispatcher(options: RpcDispatcherOptions): RpcDispatcher {
  const { methods, maxBatchSize = DEFAULT_MAX_BATCH_SIZE, work = 'answer' } = options
  const writeStream = createStreamWriter()

  /** `sendPart` is given only if the whole answer belongs to this call. */
  const call = async (request: unknown, context: RpcContext, sendPart?: SendPart): Promise<BodyChunks | undefined> => {
    if (typeof request !== 'object' || request === null || Array.isArray(request)) {
      return failure(null, new JsonRpcError(RPC_INVALID_REQUEST, 'invalid request: expected an object'))
    }
    const { id, method, params } = request as Record<string, JsonValue>
    const answerId = toAnswerId(id)
    if (typeof method !== 'string') {
      return failure(answerId, new JsonRpcError(RPC_INVALID_REQUEST, 'invalid request: method must be a string'))
    }
    const startedAt = performance.now()
    let error: JsonRpcError | undefined
    let result: BodyChunks | undefined
    let streamed: BodyChunks | undefined
    let isBegun = false
    try {
      const handler = methods.get(method)
      if (handler === undefined) {
        throw new JsonRpcError(RPC_METHOD_NOT_FOUND, `the method ${method} does not exist/is not available`)
      }
      if (context.foreignOrigin !== undefined && options.isClosedToPages?.(method)) {
        throw new JsonRpcError(RPC_SERVER_ERROR, `web pages of ${context.foreignOrigin} may not call ${method} here`)
      }
      if (context.lacksToken && options.isChanging?.(method)) {
        const message = `${method} changes something and needs a bearer token`
        throw new JsonRpcError(RPC_SERVER_ERROR, message, { data: { needs: 'token' } })
      }
      const value = (await handler(positional(params), context)) ?? null
      if (!(value instanceof StreamedJson)) result = await writeInChunks(value, context)
      else if (id !== undefined) {
        const begin: SendPart | undefined =
          sendPart &&
          ((part) => {
            isBegun = true
            return sendPart(part)
          })
        const { chunks } = value
        streamed = await writeStream({ before: headOf(answerId), chunks, after: '}' }, context.signal, begin)
      }
    } catch (thrown) {
      error = context.isOver() ? timedOut() : toRpcError(thrown)
      if (error.rpcCode === RPC_INTERNAL_ERROR && error !== thrown) options.onUnexpectedError?.(method, thrown)
    }
    const durationMs = performance.now() - startedAt
    options.onCall?.(methods.has(method) ? method : UNKNOWN_METHOD, durationMs, error, { params, result })
    // A request without id is a notification: it is executed but not answered.
    if (id === undefined) return undefined
    if (error !== undefined) {
      if (isBegun) throw error
      return failure(answerId, error)
    }
    return streamed ?? (result && between(headOf(answerId), result, '}'))
  }

  /** After a batch has timed out or reached the limit of its answers, the remaining calls are rejected. */
  const callOfBatch = (request: unknown, context: RpcContext, answerLength: number) => {
    if (context.signal.aborted) return refuse(request, timedOut())
    if (answerLength > MAX_BATCH_ANSWER_LENGTH) {
      return refuse(request, new JsonRpcError(RPC_RESPONSE_TOO_LARGE, 'response too large'))
    }
    return call(request, context)
  }

  /**
   * Parsing a body of megabytes takes milliseconds, like decoding the text before and handling the call after. So this
   * yields before and after.
   */
  const readLarge = async (body: string): Promise<Content> => {
    await yieldToLoop(work)
    const content = readContent(body)
    await yieldToLoop(work)
    return content
  }

  const answer = (content: Content, context: RpcContext): Promise<BodyChunks | undefined> => {
    if ('problem' in content) return Promise.resolve(content.problem)
    const { requests } = content
    return Array.isArray(requests) ? answerBatch(requests, context) : call(requests, context, context.sendPart)
  }

  const answerBatch = async (requests: readonly unknown[], context: RpcContext): Promise<BodyChunks | undefined> => {
    if (requests.length === 0) {
      return failure(null, new JsonRpcError(RPC_INVALID_REQUEST, 'invalid request: empty batch'))
    }
    if (requests.length > maxBatchSize) {
      const message = `invalid request: batch of ${requests.length} calls, at most ${maxBatchSize} are allowed`
      // As geth does: clients of a batch expect a list, and find their error by an id.
      const id = toAnswerId(requests.map((request) => memberOf(request, 'id')).find((found) => found !== undefined))
      return between('[', failure(id, new JsonRpcError(RPC_INVALID_REQUEST, message)), ']')
    }
    const { sendPart } = context
    const answers = new ChunkWriter()
    let separator = '['
    let answerLength = 0
    // One after the other, as in geth: a thousand expensive calls at once would leave no time for other work.
    for (const request of requests) {
      await yieldToLoop(work)
      const answer = await callOfBatch(request, context, answerLength)
      if (answer === undefined) continue
      answers.add(separator)
      separator = ','
      for (const chunk of answer) {
        answerLength += chunk.length
        answers.add(chunk)
      }
      if (sendPart === undefined) continue
      const part = answers.takeMuch()
      if (part !== undefined) await sendPart(part)
    }
    if (separator === '[') return undefined
    answers.add(']')
    return answers.end()
  }

  return {
    handle: (body, context) => {
      // No waiting function holds the body, which may have megabytes.
      if (body.length > LARGE_BODY_LENGTH) return readLarge(body).then((content) => answer(content, context))
      // Under many small calls, each turn of the event loop handles only as many as fit into its time.
      const turn = yieldToLoop(work)
      if (turn === undefined) return answer(readContent(body), context)
      return turn.then(() => answer(readContent(body), context))
    },
  }
}

function headOf(id: JsonRpcId | RawJson): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
}

type Content = { requests: unknown } | { problem: BodyChunks }

function readContent(body: string): Content {
  if (hasMoreParts(body, MAX_PARTS)) {
    const message = `invalid request: more than ${MAX_PARTS} arrays, objects and members`
    return { problem: failure(null, new JsonRpcError(RPC_INVALID_REQUEST, message)) }
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return { problem: failure(null, new JsonRpcError(RPC_PARSE_ERROR, 'parse error: the body is not JSON')) }
  }
  if (hasMoreContainers(body, MAX_DEPTH) && isTooDeep(parsed)) {
    const message = `invalid request: arrays and objects nested more than ${MAX_DEPTH} deep`
    return { problem: failure(toAnswerId(memberOf(parsed, 'id')), new JsonRpcError(RPC_INVALID_REQUEST, message)) }
  }
  return { requests: withExactIds(parsed, body) }
}

/** Checks level by level: a recursive function would overflow the stack that this check protects. */
function isTooDeep(parsed: unknown): boolean {
  let level = [parsed].filter(isContainer)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    const next: object[] = []
    for (const container of level) {
      for (const value of Array.isArray(container) ? container : Object.values(container)) {
        if (isContainer(value)) next.push(value)
      }
    }
    level = next
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function toAnswerId(id: unknown): JsonRpcId | RawJson {
  return typeof id === 'string' || typeof id === 'number' || JSON.isRawJSON(id) ? id : null
}

/** Keeps the original notation of ids that a double cannot hold, because the client must recognize its id. */
function withExactIds(parsed: unknown, body: string): unknown {
  const requests = Array.isArray(parsed) ? parsed : [parsed]
  const isInexact = (request: unknown): request is object => {
    const id = memberOf(request, 'id')
    return typeof id === 'number' && Math.abs(id) > Number.MAX_SAFE_INTEGER
  }
  // This second way of parsing is slow for a body with millions of numbers.
  if (body.length > MAX_PARTS || !requests.some(isInexact)) return parsed
  const exact: unknown = JSON.parse(body, (key, value, source?: { source?: string }) =>
    key === 'id' && typeof value === 'number' && source?.source !== undefined ? JSON.rawJSON(source.source) : value,
  )
  const exactRequests = Array.isArray(exact) ? exact : [exact]
  const withIds = requests.map((request, index) =>
    isInexact(request) ? { ...request, id: memberOf(exactRequests[index], 'id') } : request,
  )
  return Array.isArray(parsed) ? withIds : withIds[0]
}

function memberOf(value: unknown, name: 'id'): unknown {
  return typeof value === 'object' && value !== null && name in value ? value[name] : undefined
}

/** Returns no answer for a notification, even if it is rejected. */
function refuse(request: unknown, error: JsonRpcError): BodyChunks | undefined {
  if (typeof request !== 'object' || request === null) return failure(null, error)
  const { id } = request as Record<string, JsonValue>
  return id === undefined ? undefined : failure(toAnswerId(id), error)
}

function timedOut(): JsonRpcError {
  return new JsonRpcError(RPC_TIMED_OUT, 'request timed out')
}

function positional(params: JsonValue | undefined): readonly JsonValue[] {
  if (params === undefined || params === null) return []
  if (!Array.isArray(params))
    throw new JsonRpcError(RPC_INVALID_PARAMS, 'non-array args: parameters must be positional')
  return params
}

/** The only place where a thrown error becomes a JSON-RPC error. */
function toRpcError(error: unknown): JsonRpcError {
  if (error instanceof JsonRpcError) return error
  if (isDeviumError(error)) {
    const code = error.code === 'decode' || error instanceof UsageError ? RPC_INVALID_PARAMS : RPC_SERVER_ERROR
    return new JsonRpcError(code, describeError(error), { cause: error })
  }
  return new JsonRpcError(RPC_INTERNAL_ERROR, 'internal error', { cause: error })
}

function isDeviumError(error: unknown): error is DeviumError {
  return error instanceof Error && 'code' in error && 'details' in error
}

function failure(id: JsonRpcId | RawJson, error: JsonRpcError): BodyChunks {
  const { rpcCode: code, message, data } = error
  return [serialize({ jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } })]
}
