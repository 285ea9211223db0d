import { DeviumError } from '../lib/errors.ts'
import type { JsonValue } from '../lib/jsonReader.ts'

export type { JsonValue }
export type JsonRpcId = string | number | null

/** JSON-RPC 2.0 section 5.1, and the code that geth and op-node use for errors of a method. */
export const RPC_PARSE_ERROR = -32700
export const RPC_INVALID_REQUEST = -32600
export const RPC_METHOD_NOT_FOUND = -32601
export const RPC_INVALID_PARAMS = -32602
export const RPC_INTERNAL_ERROR = -32603
export const RPC_SERVER_ERROR = -32000
/** geth's codes (`rpc/errors.go`). */
export const RPC_TIMED_OUT = -32002
export const RPC_RESPONSE_TOO_LARGE = -32003
/** "limit exceeded" (EIP-1474). */
export const RPC_LIMIT_EXCEEDED = -32005

/**
 * An error with a JSON-RPC code. Handlers throw it to choose the code. The client throws it for a server's error
 * answer.
 */
export class JsonRpcError extends DeviumError<'json-rpc'> {
  override readonly name = 'JsonRpcError'
  readonly rpcCode: number
  readonly data: JsonValue | undefined

  constructor(rpcCode: number, message: string, options: { data?: JsonValue; cause?: unknown } = {}) {
    super('json-rpc', message, options.cause === undefined ? {} : { cause: options.cause })
    this.rpcCode = rpcCode
    this.data = options.data
  }
}

/** `param` is the name of the parameter in the method's documentation. */
export function invalidParams(message: string): JsonRpcError {
  return new JsonRpcError(RPC_INVALID_PARAMS, message)
}
