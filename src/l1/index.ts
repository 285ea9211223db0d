export {
  type AwaitedBlobs,
  type Beacon,
  type BeaconClient,
  BeaconError,
  type BeaconOptions,
  type BeaconStatus,
  createBeacon,
  createBlobsAhead,
} from './beacon/index.ts'
export { parseBlock, toL1BlockRef } from './block.ts'
export { withConfirmationDepth } from './confirmationDepth.ts'
export { createL1, type L1, type L1Endpoint, type L1EndpointState, type QueryL1 } from './endpoints/index.ts'
export { L1Error } from './errors.ts'
export {
  createL1HeadTracker,
  type L1HeadListener,
  type L1HeadProblem,
  type L1HeadTracker,
  type L1HeadTrackerOptions,
} from './headTracker.ts'
export { createL1Client, type L1ClientModules, type L1ClientOptions } from './l1Client.ts'
export { createReadAhead, type ReadAhead } from './readAhead.ts'
export { L1_RPC_KINDS, type L1BlockLabel, type L1Client, type L1RpcKind } from './types.ts'
