import { type DeviumError, describeError, UsageError } from '../errors.ts'
import {
  JsonRpcError,
  type JsonRpcId,
  type JsonValue,
  RPC_INTERNAL_ERROR,
  RPC_INVALID_PARAMS,
  RPC_INVALID_REQUEST,
  RPC_METHOD_NOT_FOUND,
  RPC_PARSE_ERROR,
  RPC_SERVER_ERROR,
} from './types.ts'

declare global {
  // ES2025 proposal that Node 24 ships and TypeScript's library does not describe yet.
  interface JSON {
    rawJSON(text: string): unknown
  }
}

/** What a handler may see of the request besides its parameters. */
export interface RpcContext {
  /** Aborts when the client goes away or the call's time is over. */
  signal: AbortSignal
}

/** One method. `params` are positional and already complete JSON values; the handler checks them (JsonRpcError -32602). */
export type RpcHandler = (params: readonly JsonValue[], context: RpcContext) => Promise<unknown> | unknown

export interface RpcDispatcherOptions {
  methods: ReadonlyMap<string, RpcHandler>
  /** Elements allowed in one batch. */
  maxBatchSize?: number
  /** Called once for each answered call: for metrics and debug logs. */
  onCall?: (method: string, durationMs: number, error: JsonRpcError | undefined) => void
  /** Called for errors nobody meant to throw (answered with -32603 and no detail of the inside). */
  onUnexpectedError?: (method: string, error: unknown) => void
}

/** Turns the text of an HTTP body into the text of its answer; undefined when nothing is to be answered (notifications). */
export interface RpcDispatcher {
  handle(body: string, context: RpcContext): Promise<string | undefined>
}

/** geth's limit for a batch. */
const DEFAULT_MAX_BATCH_SIZE = 1000

export function createRpcDispatcher(options: RpcDispatcherOptions): RpcDispatcher {
  const { methods, maxBatchSize = DEFAULT_MAX_BATCH_SIZE } = options

  const call = async (request: unknown, context: RpcContext): Promise<object | undefined> => {
    if (typeof request !== 'object' || request === null || Array.isArray(request)) {
      return failure(null, new JsonRpcError(RPC_INVALID_REQUEST, 'invalid request: expected an object'))
    }
    const { id, method, params } = request as Record<string, JsonValue>
    const answerId: JsonRpcId = typeof id === 'string' || typeof id === 'number' ? id : null
    if (typeof method !== 'string') {
      return failure(answerId, new JsonRpcError(RPC_INVALID_REQUEST, 'invalid request: method must be a string'))
    }
    const startedAt = performance.now()
    let error: JsonRpcError | undefined
    let result: unknown
    try {
      const handler = methods.get(method)
      if (handler === undefined) {
        throw new JsonRpcError(RPC_METHOD_NOT_FOUND, `the method ${method} does not exist/is not available`)
      }
      result = await handler(positional(params), context)
    } catch (thrown) {
      error = toRpcError(thrown)
      if (error.rpcCode === RPC_INTERNAL_ERROR) options.onUnexpectedError?.(method, thrown)
    }
    options.onCall?.(method, performance.now() - startedAt, error)
    // A request without id is a notification: executed, never answered.
    if (id === undefined) return undefined
    return error === undefined ? { jsonrpc: '2.0', id: answerId, result: result ?? null } : failure(answerId, error)
  }

  return {
    async handle(body, context) {
      let parsed: unknown
      try {
        parsed = JSON.parse(body)
      } catch {
        return JSON.stringify(failure(null, new JsonRpcError(RPC_PARSE_ERROR, 'parse error: the body is not JSON')))
      }
      if (!Array.isArray(parsed)) {
        const answer = await call(parsed, context)
        return answer === undefined ? undefined : serialize(answer)
      }
      if (parsed.length === 0) {
        return JSON.stringify(failure(null, new JsonRpcError(RPC_INVALID_REQUEST, 'invalid request: empty batch')))
      }
      if (parsed.length > maxBatchSize) {
        const message = `invalid request: batch of ${parsed.length} calls, at most ${maxBatchSize} are allowed`
        return JSON.stringify(failure(null, new JsonRpcError(RPC_INVALID_REQUEST, message)))
      }
      const answers = await Promise.all(parsed.map((request) => call(request, context)))
      const present = answers.filter((answer) => answer !== undefined)
      return present.length === 0 ? undefined : `[${present.map(serialize).join(',')}]`
    },
  }
}

function positional(params: JsonValue | undefined): readonly JsonValue[] {
  if (params === undefined || params === null) return []
  if (!Array.isArray(params))
    throw new JsonRpcError(RPC_INVALID_PARAMS, 'non-array args: parameters must be positional')
  return params
}

/** The one place where a thrown error becomes a JSON-RPC error. */
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

function failure(id: JsonRpcId, error: JsonRpcError): object {
  const { rpcCode: code, message, data } = error
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } }
}

function serialize(answer: object): string {
  // Chain quantities beyond 2^53 that a document defines as JSON integers leave as exact integers.
  return JSON.stringify(answer, (_key, value) => (typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value))
}
