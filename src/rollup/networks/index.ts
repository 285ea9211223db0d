export { bootnodesOf } from './bootnodes.ts'
export {
  dumpOf,
  dumpRollupConfig,
  isBuiltIn,
  nearestNames,
  networkNames,
  networkOfChain,
  rollupConfigOf,
  usesAltDa,
} from './registry.ts'
