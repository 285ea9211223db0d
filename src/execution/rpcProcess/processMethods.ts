import type { RpcHandler } from '../../jsonRpc/server.ts'
import { JsonRpcError, RPC_LIMIT_EXCEEDED } from '../../jsonRpc/types.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSlots, type Slots } from '../../lib/slots.ts'
import type { ReadableChain } from '../chain/types.ts'
import { executesCode, isLong, withTimeLimits } from '../rpc/callLimits.ts'
import type { MethodTable } from '../rpc/context.ts'
import { FILTER_CRITERIA } from '../rpc/methods/filterMethods.ts'
import { createNodeMethods } from '../rpc/methods/nodeMethods.ts'
import { createReadMethods } from '../rpc/methods/readMethods.ts'
import { createStateMethods } from '../rpc/methods/stateMethods.ts'
import { createSubscribeMethods } from '../rpc/methods/subscribeMethods.ts'
import type { RpcOptions } from '../rpc/options.ts'
import type { EngineLink } from './engineLink.ts'

/** Calls that execute code at a time: each may hold megabytes, and they share the process's time. */
const MAX_EXECUTING = 4
/** Waiting calls: more are refused. */
const MAX_WAITING = 256

export interface ProcessMethodModules {
  chain: ReadableChain
  engine: EngineLink
  logger: Pick<Logger, 'warn'>
}

export interface ProcessMethods {
  handlerOf(name: string): RpcHandler
  /** Calls that execute code, and those that wait for that. */
  stats(): { running: number; waiting: number }
}

/** Methods that only read run in this process; the engine process is asked for the others. */
export function createProcessMethods(
  { chain, engine, logger }: ProcessMethodModules,
  options: RpcOptions,
): ProcessMethods {
  const executing = createSlots(MAX_EXECUTING)
  // Such a method holds all that it gathers until it ends.
  const gathering = createSlots(1)
  const reads: MethodTable = {
    ...withTimeLimits(createReadMethods(chain, options), options),
    ...createStateMethods({ chain, pool: { nextNonce: () => undefined } }),
    ...createNodeMethods({ chain }, options),
    ...createSubscribeMethods({
      chain: { onHead: (listener) => engine.onHead(listener), receipts: (hash) => chain.receipts(hash) },
      pool: { onAdded: (listener) => engine.onAdded(listener) },
      logger,
    }),
  }
  /** A transaction that is in no block may be in the pool. */
  const pooled =
    (name: string): RpcHandler =>
    async (params, context) => {
      const mined = await reads[name]?.(params, context)
      return mined === null ? engine.ask(name, params, context) : mined
    }
  const long =
    (name: string): RpcHandler =>
    (params, context) =>
      engine.askLong(name, params, context)
  const special: MethodTable = {
    txpool_content: long('txpool_content'),
    txpool_contentFrom: long('txpool_contentFrom'),
    txpool_inspect: long('txpool_inspect'),
    eth_getTransactionByHash: pooled('eth_getTransactionByHash'),
    eth_getRawTransactionByHash: pooled('eth_getRawTransactionByHash'),
    debug_getRawTransaction: pooled('debug_getRawTransaction'),
    eth_getTransactionCount: (params, context) =>
      params[1] === 'pending'
        ? engine.ask('eth_getTransactionCount', params, context)
        : reads.eth_getTransactionCount?.(params, context),
    eth_getFilterLogs: async (params, context) =>
      reads.eth_getLogs?.([await engine.ask(FILTER_CRITERIA, params, context)], context),
  }
  return {
    handlerOf(name) {
      const handler: RpcHandler | undefined = special[name] ?? reads[name]
      if (handler === undefined) return (params, context) => engine.ask(name, params, context)
      if (!executesCode(name)) return handler
      const inTurn: RpcHandler = (params, context) => admit(executing, async () => handler(params, context))
      return isLong(name) ? (params, context) => admit(gathering, async () => inTurn(params, context)) : inTurn
    },
    stats: () => ({ running: executing.active, waiting: executing.waiting + gathering.waiting }),
  }
}

function admit<T>(slots: Slots, run: () => Promise<T>): Promise<T> {
  if (slots.waiting < MAX_WAITING) return slots.run(run)
  throw new JsonRpcError(RPC_LIMIT_EXCEEDED, 'too many calls wait to be run: try again later')
}
