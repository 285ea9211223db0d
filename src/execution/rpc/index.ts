import { createConditionalMethods } from './conditionalMethods.ts'
import type { MethodTable, RpcModules, RpcOptions } from './context.ts'
import { createFilterMethods } from './filterMethods.ts'
import { createMinerMethods } from './minerMethods.ts'
import { createNodeMethods } from './nodeMethods.ts'
import { offload } from './offload.ts'
import { HURRIED } from './pace.ts'
import { createReadMethods } from './readMethods.ts'
import { createSdmMethods } from './sdmMethods.ts'
import { createStateMethods } from './stateMethods.ts'
import { createSubscribeMethods } from './subscribeMethods.ts'
import { createTransactionMethods } from './transactionMethods.ts'
import { createTxPoolMethods } from './txPoolMethods.ts'

export { DEFAULT_RPC_OPTIONS, type MethodTable, type RpcModules, type RpcOptions, type RpcPool } from './context.ts'
export { namespacesOf, selectNamespaces } from './namespaces.ts'

/** Every method that needs no authentication: namespaces eth, net, web3, txpool, debug, miner and admin. */
export function createEthMethods(modules: RpcModules, options: RpcOptions): MethodTable {
  const reads = offload(createReadMethods(modules.chain, options, HURRIED), modules.calls, options)
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
