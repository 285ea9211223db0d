import type { RpcHandler } from '../../jsonRpc/server.ts'
import type { Logger } from '../../lib/logger.ts'
import type { ReadableChain } from '../chain/chainView.ts'
import { limitCalls } from '../rpc/callLimits.ts'
import type { MethodTable } from '../rpc/context.ts'
import { FILTER_CRITERIA } from '../rpc/methods/filterMethods.ts'
import { createNodeMethods } from '../rpc/methods/nodeMethods.ts'
import { createReadMethods } from '../rpc/methods/readMethods.ts'
import { createStateMethods } from '../rpc/methods/stateMethods.ts'
import { createSubscribeMethods } from '../rpc/methods/subscribeMethods.ts'
import type { RpcOptions } from '../rpc/options.ts'
import { address, blockSelector, readParams } from '../rpc/params.ts'
import type { EngineLink } from './engineLink.ts'

export interface ProcessMethodModules {
  chain: ReadableChain
  engine: EngineLink
  logger: Pick<Logger, 'warn'>
}

export interface ProcessMethods {
  handlerOf(name: string): RpcHandler
  /** Calls that execute code, and calls that wait for them. */
  stats(): { running: number; waiting: number }
}

/** Read methods run in this process. Other methods are requested from the engine process. */
export function createProcessMethods(
  { chain, engine, logger }: ProcessMethodModules,
  options: RpcOptions,
): ProcessMethods {
  const limited = limitCalls(createReadMethods(chain, options), options)
  const reads: MethodTable = {
    ...limited.methods,
    ...createStateMethods({ chain, pool: { nextNonce: () => undefined } }),
    ...createNodeMethods({ chain }, options),
    ...createSubscribeMethods({
      chain: { onHead: (listener) => engine.onHead(listener), receipts: (hash) => chain.receipts(hash) },
      pool: { onAdded: (listener) => engine.onAdded(listener) },
      logger,
    }),
  }
  /** A transaction that is not in a block may be in the pool. */
  const pooled =
    (name: string): RpcHandler =>
    async (params, context) => {
      const mined = await reads[name]?.(params, context)
      return mined === null ? engine.request(name, params, context) : mined
    }
  const long =
    (name: string): RpcHandler =>
    (params, context) =>
      engine.requestStream(name, params, context)
  const special: MethodTable = {
    txpool_content: long('txpool_content'),
    txpool_contentFrom: long('txpool_contentFrom'),
    txpool_inspect: long('txpool_inspect'),
    eth_getTransactionByHash: pooled('eth_getTransactionByHash'),
    eth_getRawTransactionByHash: pooled('eth_getRawTransactionByHash'),
    debug_getRawTransaction: pooled('debug_getRawTransaction'),
    eth_getTransactionCount: (params, context) => {
      const [, block] = readParams([address, blockSelector], params)
      return block.kind === 'label' && block.label === 'pending'
        ? engine.request('eth_getTransactionCount', params, context)
        : reads.eth_getTransactionCount?.(params, context)
    },
    eth_getFilterLogs: async (params, context) =>
      reads.eth_getLogs?.([await engine.request(FILTER_CRITERIA, params, context)], context),
  }
  return {
    handlerOf: (name) => special[name] ?? reads[name] ?? ((params, context) => engine.request(name, params, context)),
    stats: limited.stats,
  }
}
