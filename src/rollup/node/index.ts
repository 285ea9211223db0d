export type { OutputAtBlock, P2pPort, RollupNodeApi, SafeHeadAtL1Block } from './api.ts'
