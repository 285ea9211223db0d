import { createBlockMethods } from './blockMethods.ts'
import { createCallMethods } from './callMethods.ts'
import type { MethodTable, RpcModules, RpcOptions } from './context.ts'
import { createDebugMethods } from './debugMethods.ts'
import { createFeeMethods } from './feeMethods.ts'
import { createLogMethods } from './logMethods.ts'
import { createMinerMethods } from './minerMethods.ts'
import { createNodeMethods } from './nodeMethods.ts'
import { createStateMethods } from './stateMethods.ts'
import { createTraceMethods } from './traceMethods.ts'
import { createTransactionMethods } from './transactionMethods.ts'
import { createTxPoolMethods } from './txPoolMethods.ts'

export { DEFAULT_RPC_OPTIONS, type MethodTable, type RpcModules, type RpcOptions, type RpcPool } from './context.ts'
export { namespacesOf, selectNamespaces } from './namespaces.ts'

/** Every method that needs no authentication: namespaces eth, net, web3, txpool, debug, miner and admin. */
export function createEthMethods(modules: RpcModules, options: RpcOptions): MethodTable {
  return {
    ...createNodeMethods(modules, options),
    ...createBlockMethods(modules),
    ...createStateMethods(modules),
    ...createCallMethods(modules, options),
    ...createTransactionMethods(modules, options),
    ...createFeeMethods(modules, options),
    ...createLogMethods(modules, options),
    ...createTxPoolMethods(modules),
    ...createDebugMethods(modules),
    ...createTraceMethods(modules, options),
    ...createMinerMethods(modules),
  }
}
