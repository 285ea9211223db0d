export { LIVE_NOTIFICATION } from './live/liveMethods.ts'
export type { RpcMethod } from './method.ts'
export { createRollupRpc, type RollupRpcModules, type RollupRpcOptions } from './rollupRpc.ts'
export { createRpcMetrics, type RpcMetrics } from './rpcMetrics.ts'
