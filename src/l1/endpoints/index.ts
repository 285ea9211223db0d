export { createL1, type L1, type L1Endpoint, type L1Modules, type L1Options } from './createL1.ts'
export type { L1EndpointState } from './endpointChoice.ts'
export type { QueryL1 } from './pooledClient.ts'
