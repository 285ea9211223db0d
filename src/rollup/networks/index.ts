export { bootnodesOf } from './bootnodes.ts'
export { dumpRollupConfig, nearestNames, networkNames, rollupConfigOf } from './registry.ts'
