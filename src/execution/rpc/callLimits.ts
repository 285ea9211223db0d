import { JsonRpcError, type JsonValue, RPC_INVALID_PARAMS, RPC_SERVER_ERROR } from '../../jsonRpc/types.ts'
import { durationMsIn } from '../../lib/duration.ts'
import { isObject } from '../../lib/jsonReader.ts'
import type { RpcOptions } from './options.ts'

/** Methods that execute code, which end after `--rpc.evmtimeout`. */
const EXECUTES = /^(eth_call|eth_estimateGas|eth_createAccessList|eth_simulateV1|debug_trace\w*)$/
export function executesCode(name: string): boolean {
  return EXECUTES.test(name)
}

/** Milliseconds that the call may take; 0: as long as any call. */
export function timeLimitOf(
  name: string,
  params: readonly JsonValue[],
  { evmTimeoutMs }: Pick<RpcOptions, 'evmTimeoutMs'>,
): number {
  if (!executesCode(name)) return 0
  return (name.startsWith('debug_trace') ? traceTimeoutMs(params.at(-1)) : undefined) ?? evmTimeoutMs
}

/** Of geth's TraceConfig, which says itself how long a trace may take. Throws JsonRpcError. */
function traceTimeoutMs(config: JsonValue | undefined): number | undefined {
  if (!isObject(config)) return undefined
  const { timeout } = config
  if (timeout === undefined || timeout === null) return undefined
  const timeoutMs = durationMsIn(timeout)
  if (timeoutMs !== undefined) return timeoutMs
  const message = `trace option "timeout": expected a duration such as "30s", got ${JSON.stringify(timeout)}`
  throw new JsonRpcError(RPC_INVALID_PARAMS, message)
}

/** geth's words. */
export function timedOutAfter(timeoutMs: number): JsonRpcError {
  return new JsonRpcError(RPC_SERVER_ERROR, `execution aborted (timeout = ${timeoutMs / 1000}s)`)
}

const LONG = /^(eth_simulateV1|debug_trace\w*)$/
/** Whether the method is never short, and may gather much until it ends. */
export function isLong(name: string): boolean {
  return LONG.test(name)
}
