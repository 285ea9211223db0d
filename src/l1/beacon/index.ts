export type { AwaitedBlobs, BeaconClient, BeaconStatus } from './beaconClient.ts'
export { type BlobsAhead, createBlobsAhead } from './blobsAhead.ts'
export { type Beacon, type BeaconOptions, createBeacon } from './createBeacon.ts'
export { BeaconError } from './errors.ts'
