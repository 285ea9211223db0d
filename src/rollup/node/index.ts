export type { OutputAtBlock, P2pPort, RollupNodeApi, SafeHeadAtL1Block } from './api.ts'
export { createDerivationMetrics } from './derivationMetrics.ts'
export { DerivationRecorder } from './derivationRecorder.ts'
export type { DerivationState } from './derivationStates.ts'
export type { DerivationStatus } from './derivationStatus.ts'
export { FollowSource } from './followSource.ts'
export { type EngineForkCheck, type EngineForkVerdict, missingBundleText, unknownForkText } from './forkWatch.ts'
export type { NodeHealth } from './health/healthWatch.ts'
export { createNodeMetrics, type NodeMetrics } from './metrics.ts'
export { createRollupNode, NodeError, type RollupNode } from './rollupNode.ts'
export type {
  NodeInsight,
  NodeL1,
  NodeL1Heads,
  RollupNodeModules,
  RollupNodeOptions,
  SequencingOptions,
} from './rollupNodeModules.ts'
export { RuntimeConfig } from './runtimeConfig.ts'
export type { SafeHeadDb } from './safeHeadDb.ts'
export type { SdmStatus } from './sdmOptIn.ts'
export { createSequencerState, type SequencerState } from './sequencerState.ts'
