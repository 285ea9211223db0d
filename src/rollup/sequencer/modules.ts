import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BuildJob, EngineHeads, HeadsMovedBy } from '../engine/index.ts'
import type { BlockId, L1BlockRef, L2BlockRef, PayloadAttributes, PayloadEnvelope } from '../protocol/types.ts'
import type { Conductor } from './conductor.ts'

/** The part of the engine controller that the sequencer uses. */
export interface SequencerEngine {
  readonly ready: boolean
  readonly heads: EngineHeads
  subscribe(listener: (heads: EngineHeads, movedBy: HeadsMovedBy) => void): () => void
  startBuild(parent: L2BlockRef, attributes: PayloadAttributes): Promise<BuildJob>
  sealBuild(job: BuildJob): Promise<PayloadEnvelope>
  insertSealed(envelope: PayloadEnvelope): Promise<L2BlockRef>
}

/** Attributes of the next block: deposits and parameters, no user transactions. */
export interface SequencerAttributes {
  prepare(parent: L2BlockRef, epoch: BlockId): Promise<PayloadAttributes>
}

export interface SequencerOrigins {
  select(parent: L2BlockRef): Promise<L1BlockRef>
  /** Whether the origin is on the canonical L1 chain. True if L1 has not reached it yet. */
  isCanonical(origin: BlockId): Promise<boolean>
  /** Prefetches the data that `select` needs for the block after `parent`. Never fails. */
  prefetch(parent: L2BlockRef): void
  setRecoverMode(isOn: boolean): void
  reset(): void
}

export interface SequencerMetrics {
  /** `sealingMs`: time from the request to the complete block. `buildingDiffMs`: building time minus block time. */
  sealed(envelope: PayloadEnvelope, sealingMs: number, buildingDiffMs: number): void
  sequencingError(): void
  inconsistentOrigin(): void
  sequencerReset(): void
}

export interface SequencerModules {
  engine: SequencerEngine
  attributes: SequencerAttributes
  origins: SequencerOrigins
  /** Default: this sequencer is the only one. */
  conductor?: Conductor
  /** Publishes a block to peers. The block is already this node's head. */
  publish: (envelope: PayloadEnvelope) => void
  /** Requests a reset of heads and pipeline. Resolves when it is done. */
  requestReset: () => Promise<void>
  /** Called when building starts or stops, before the caller gets the result. */
  onActiveChange?: (active: boolean) => Promise<void>
  metrics: SequencerMetrics
  clock: Clock
  logger: Logger
}
