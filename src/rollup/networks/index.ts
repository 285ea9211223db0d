export { bootnodesOf } from './bootnodes.ts'
export { type NetworkFile, readNetworkFile } from './networkFile.ts'
export {
  addNetwork,
  findNetwork,
  type Network,
  ownNetworkNames,
  ownNetworksFolder,
  removeNetwork,
} from './ownNetworks.ts'
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
