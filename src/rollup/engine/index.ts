export type { BuildJob } from './blockBuilding.ts'
export type { AttributesOutcome } from './derivedBlocks.ts'
export { CONSENSUS_LAYER_SYNC, type SafeHeadHistory, SYNC_MODES, type SyncMode, type SyncOptions } from './elSync.ts'
export { createEngineClient, type EngineClient, type EngineClientOptions } from './engineClient.ts'
export {
  EngineController,
  type HeadsMovedBy,
  type InsertOutcome,
} from './engineController.ts'
export { EngineError, type EngineErrorCode } from './engineErrors.ts'
export {
  DEFAULT_MAX_REORG_WINDOWS,
  findStartHeads,
  type StartHeads,
  StartHeadsError,
  type StartHeadsOptions,
} from './findStartHeads.ts'
export type { FollowedHeads, PrepareDeposits } from './followedChain.ts'
export { findMismatch } from './matchAttributes.ts'
export type { L1Lookup } from './startWalk.ts'
export type {
  Engine,
  EngineHeads,
  ForkchoiceResult,
  ForkchoiceState,
  L2BlockLabel,
  PayloadStatus,
} from './types.ts'
