export type { OutputAtBlock, P2pPort, RollupNodeApi, SafeHeadAtL1Block } from './api.ts'
export { createDerivationMetrics } from './derivationMetrics.ts'
export { DerivationRecorder } from './derivationRecorder.ts'
export type { DerivationState, DerivationStatus } from './derivationStatus.ts'
export { FollowSource } from './followSource.ts'
export { createNodeMetrics, type NodeMetrics } from './metrics.ts'
export {
  createRollupNode,
  NodeError,
  type NodeL1,
  type NodeL1Heads,
  type RollupNode,
  type RollupNodeModules,
  type RollupNodeOptions,
  type SequencingOptions,
} from './rollupNode.ts'
export { RuntimeConfig } from './runtimeConfig.ts'
export type { SafeHeadDb } from './safeHeadDb.ts'
export { createSequencerState, type SequencerState } from './sequencerState.ts'
