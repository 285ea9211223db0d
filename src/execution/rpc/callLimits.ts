import type { RpcContext } from '../../jsonRpc/callContext.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import {
  JsonRpcError,
  type JsonValue,
  RPC_INVALID_PARAMS,
  RPC_LIMIT_EXCEEDED,
  RPC_SERVER_ERROR,
} from '../../jsonRpc/types.ts'
import { durationMsIn } from '../../lib/duration.ts'
import { isObject } from '../../lib/jsonReader.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import type { MethodTable } from './context.ts'
import type { RpcOptions } from './options.ts'

/** Methods that execute code, which end after `--rpc.evmtimeout`. */
const EXECUTES = /^(eth_call|eth_estimateGas|eth_createAccessList|eth_simulateV1|debug_trace\w*)$/
/** Methods that are never short, and may gather much until they end. */
const LONG = /^(eth_simulateV1|debug_trace\w*)$/
/** Calls that execute code at a time: each may hold megabytes, and they share the process's time. */
const MAX_EXECUTING = 4
/** Waiting calls: more are refused. */
const MAX_WAITING = 256
const TOO_MANY = 'too many calls wait to be run: try again later'

export interface LimitedMethods {
  methods: MethodTable
  /** Calls that execute code, and those that wait for that. */
  stats(): { running: number; waiting: number }
}

/** Of the methods, those that execute code wait while four others run, and end after their time. */
export function limitCalls(methods: MethodTable, options: Pick<RpcOptions, 'evmTimeoutMs'>): LimitedMethods {
  const executing = createSemaphore(MAX_EXECUTING)
  // Such a method holds all that it gathers until it ends.
  const gathering = createSemaphore(1)
  const stats = () => ({ running: executing.active, waiting: executing.waiting + gathering.waiting })
  const limit = (name: string, handler: RpcHandler): RpcHandler => {
    if (!EXECUTES.test(name)) return handler
    const inTime = timed(handler, (params) => timeLimitOf(name, params, options))
    const run: RpcHandler = (params, context) =>
      executing.run(async () => {
        context.signal.throwIfAborted()
        return inTime(params, context)
      })
    return async (params, context) => {
      if (stats().waiting >= MAX_WAITING) throw new JsonRpcError(RPC_LIMIT_EXCEEDED, TOO_MANY)
      return LONG.test(name) ? gathering.run(async () => run(params, context)) : run(params, context)
    }
  }
  return {
    methods: Object.fromEntries(Object.entries(methods).map(([name, handler]) => [name, limit(name, handler)])),
    stats,
  }
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
