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
  hasLeftRegistry,
  isBuiltIn,
  networkNames,
  networkOfChain,
  REGISTRY_COMMIT,
  REGISTRY_UPDATE,
  rollupConfigOf,
  usesAltDa,
} from './registry.ts'
