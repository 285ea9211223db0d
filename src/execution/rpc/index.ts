import { limitCalls } from './callLimits.ts'
import type { MethodTable, RpcModules } from './context.ts'
import { createConditionalMethods } from './methods/conditionalMethods.ts'
import { createFilterMethods } from './methods/filterMethods.ts'
import { createMinerMethods } from './methods/minerMethods.ts'
import { createNodeMethods } from './methods/nodeMethods.ts'
import { createReadMethods } from './methods/readMethods.ts'
import { createSdmMethods } from './methods/sdmMethods.ts'
import { createStateMethods } from './methods/stateMethods.ts'
import { createSubscribeMethods } from './methods/subscribeMethods.ts'
import { createTransactionMethods } from './methods/transactionMethods.ts'
import { createTxPoolMethods } from './methods/txPoolMethods.ts'
import type { RpcOptions } from './options.ts'

export type { MethodTable, RpcModules, RpcPool } from './context.ts'
export { namespacesOf, selectNamespaces } from './namespaces.ts'
export { DEFAULT_RPC_OPTIONS, type RpcOptions } from './options.ts'

/** All methods without authentication: namespaces eth, net, web3, txpool, debug, miner and admin. */
export function createEthMethods(modules: RpcModules, options: RpcOptions): MethodTable {
  const { methods: reads } = limitCalls(createReadMethods(modules.chain, options), options)
  return {
    ...reads,
    ...createNodeMethods(modules, options),
    ...createStateMethods(modules),
    ...createTransactionMethods(modules, options, reads),
    ...createConditionalMethods(modules, options),
    ...createFilterMethods(modules, reads.eth_getLogs),
    ...createSubscribeMethods(modules),
    ...createTxPoolMethods(modules),
    ...createMinerMethods(modules),
    ...createSdmMethods(modules),
  }
}
