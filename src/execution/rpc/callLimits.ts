import type { RpcContext } from '../../jsonRpc/callContext.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import { JsonRpcError, type JsonValue, RPC_INVALID_PARAMS, RPC_SERVER_ERROR } from '../../jsonRpc/types.ts'
import { durationMsIn } from '../../lib/duration.ts'
import { isObject } from '../../lib/jsonReader.ts'
import type { MethodTable } from './context.ts'
import type { RpcOptions } from './options.ts'

/** Methods that execute code, which end after `--rpc.evmtimeout`. */
const EXECUTES = /^(eth_call|eth_estimateGas|eth_createAccessList|eth_simulateV1|debug_trace\w*)$/
export function executesCode(name: string): boolean {
  return EXECUTES.test(name)
}

/** The methods, of which those that execute code end after their time. */
export function withTimeLimits(methods: MethodTable, options: Pick<RpcOptions, 'evmTimeoutMs'>): MethodTable {
  const limited = Object.entries(methods).map(([name, handler]): [string, RpcHandler] =>
    executesCode(name) ? [name, timed(handler, (params) => timeLimitOf(name, params, options))] : [name, handler],
  )
  return Object.fromEntries(limited)
}

function timed(handler: RpcHandler, limitOf: (params: readonly JsonValue[]) => number): RpcHandler {
  return async (params, context) => {
    const timeoutMs = limitOf(params)
    if (timeoutMs === 0) return handler(params, context)
    const time = new AbortController()
    const timer = setTimeout(() => time.abort(timedOutAfter(timeoutMs)), timeoutMs)
    try {
      return await handler(params, withSignal(context, AbortSignal.any([context.signal, time.signal])))
    } finally {
      clearTimeout(timer)
    }
  }
}

function withSignal(context: RpcContext, signal: AbortSignal): RpcContext {
  return { signal, isOver: () => context.isOver(), subscriber: context.subscriber }
}

/** Milliseconds; 0: as long as any call. */
function timeLimitOf(
  name: string,
  params: readonly JsonValue[],
  { evmTimeoutMs }: Pick<RpcOptions, 'evmTimeoutMs'>,
): number {
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
function timedOutAfter(timeoutMs: number): JsonRpcError {
  return new JsonRpcError(RPC_SERVER_ERROR, `execution aborted (timeout = ${timeoutMs / 1000}s)`)
}

const LONG = /^(eth_simulateV1|debug_trace\w*)$/
/** Whether the method is never short, and may gather much until it ends. */
export function isLong(name: string): boolean {
  return LONG.test(name)
}
