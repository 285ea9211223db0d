import { WrittenJson, writeInChunks } from '../../jsonRpc/bodyChunks.ts'
import type { RpcContext } from '../../jsonRpc/callContext.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import {
  JsonRpcError,
  type JsonValue,
  RPC_INVALID_PARAMS,
  RPC_LIMIT_EXCEEDED,
  RPC_SERVER_ERROR,
} from '../../jsonRpc/types.ts'
import { systemClock } from '../../lib/clock.ts'
import { durationMsIn } from '../../lib/duration.ts'
import { isObject } from '../../lib/jsonReader.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import type { MethodTable } from './context.ts'
import type { RpcOptions } from './options.ts'

/** Methods that execute code. They end after `--rpc.evmtimeout`, except for witnesses of whole blocks. */
const EXECUTES = /^(eth_call|eth_estimateGas|eth_createAccessList|eth_simulateV1|debug_(trace|exec)\w*)$/
/** Methods that are always slow and may collect much data until they end. */
const LONG = /^(eth_simulateV1|debug_(trace|exec)\w*)$/
/** Methods whose answers may list all logs or transactions of a block. */
const LISTS = /^eth_(getLogs|getBlockReceipts|getBlockByNumber|getBlockByHash)$/
/** Most calls that execute code at once. Each may hold megabytes, and they share the process's time. */
const MAX_EXECUTING = 4
/** Most lists that are collected at once. An RPC process's heap holds two lists of 130,000 logs, but not ten. */
const MAX_LISTING = 2
/** Most waiting calls. Further calls are refused. */
const MAX_WAITING = 256
const TOO_MANY = 'too many calls are waiting: try again later'

export interface LimitedMethods {
  methods: MethodTable
  /** Calls that execute code, and calls that wait for them. */
  stats(): { running: number; waiting: number }
}

/**
 * Limits the methods that execute code: four calls run at once, and each ends after its time limit. Of the methods that
 * list logs or transactions, two calls run at once.
 */
export function limitCalls(methods: MethodTable, options: Pick<RpcOptions, 'evmTimeoutMs'>): LimitedMethods {
  const executing = createSemaphore(MAX_EXECUTING)
  // Such a method holds its collected data until it ends.
  const gathering = createSemaphore(1)
  const stats = () => ({ running: executing.active, waiting: executing.waiting + gathering.waiting })
  const listing = createSemaphore(MAX_LISTING)
  const list =
    (name: string, handler: RpcHandler): RpcHandler =>
    async (params, context) => {
      if (name.startsWith('eth_getBlockBy') && params[1] !== true) return handler(params, context)
      if (listing.waiting >= MAX_WAITING) throw new JsonRpcError(RPC_LIMIT_EXCEEDED, TOO_MANY)
      return listing.run(async () => {
        context.signal.throwIfAborted()
        // Bytes are outside V8's heap. Many answers may wait for their clients.
        return new WrittenJson(await writeInChunks((await handler(params, context)) ?? null, context))
      })
    }
  const limit = (name: string, handler: RpcHandler): RpcHandler => {
    if (LISTS.test(name)) return list(name, handler)
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
    const cancel = systemClock.setTimeout(() => time.abort(timedOutAfter(timeoutMs)), timeoutMs)
    try {
      return await handler(params, withSignal(context, AbortSignal.any([context.signal, time.signal])))
    } finally {
      cancel()
    }
  }
}

function withSignal(context: RpcContext, signal: AbortSignal): RpcContext {
  return { signal, isOver: () => context.isOver(), subscriber: context.subscriber }
}

/** Milliseconds; 0 = no limit of its own. */
function timeLimitOf(
  name: string,
  params: readonly JsonValue[],
  { evmTimeoutMs }: Pick<RpcOptions, 'evmTimeoutMs'>,
): number {
  if (name.startsWith('debug_exec')) return 0
  return (name.startsWith('debug_trace') ? traceTimeoutMs(params.at(-1)) : undefined) ?? evmTimeoutMs
}

/** The time limit in geth's TraceConfig. Throws JsonRpcError. */
function traceTimeoutMs(config: JsonValue | undefined): number | undefined {
  if (!isObject(config)) return undefined
  const { timeout } = config
  if (timeout === undefined || timeout === null) return undefined
  const timeoutMs = durationMsIn(timeout)
  if (timeoutMs !== undefined) return timeoutMs
  const message = `trace option "timeout": expected a duration such as "30s", got ${JSON.stringify(timeout)}`
  throw new JsonRpcError(RPC_INVALID_PARAMS, message)
}

/** geth's message. */
function timedOutAfter(timeoutMs: number): JsonRpcError {
  return new JsonRpcError(RPC_SERVER_ERROR, `execution aborted (timeout = ${timeoutMs / 1000}s)`)
}
