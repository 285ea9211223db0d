import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BuildJob, EngineHeads, HeadsMovedBy } from '../engine/index.ts'
import type { BlockId, L1BlockRef, L2BlockRef, PayloadAttributes, PayloadEnvelope } from '../protocol/types.ts'
import type { Conductor } from './conductor.ts'

/** The engine controller as the sequencer uses it. */
export interface SequencerEngine {
  readonly ready: boolean
  readonly heads: EngineHeads
  subscribe(listener: (heads: EngineHeads, movedBy: HeadsMovedBy) => void): () => void
  startBuild(parent: L2BlockRef, attributes: PayloadAttributes): Promise<BuildJob>
  sealBuild(job: BuildJob): Promise<PayloadEnvelope>
  insertSealed(envelope: PayloadEnvelope): Promise<L2BlockRef>
}

/** Deposits and parameters of the next block, without transactions of its own. */
export interface SequencerAttributes {
  prepare(parent: L2BlockRef, epoch: BlockId): Promise<PayloadAttributes>
}

export interface SequencerOrigins {
  select(parent: L2BlockRef): Promise<L1BlockRef>
  /** Whether L1 still has this origin, as far as it can be known. */
  isCanonical(origin: BlockId): Promise<boolean>
  /** Reads ahead what `select` will need for the block after `parent`; never fails. */
  prefetch(parent: L2BlockRef): void
  setRecoverMode(isOn: boolean): void
  reset(): void
}

export interface SequencerMetrics {
  /** From the request for the block to the whole block, and how much longer than the block time it was in the making. */
  sealed(envelope: PayloadEnvelope, sealingMs: number, buildingDiffMs: number): void
  sequencingError(): void
  inconsistentOrigin(): void
  sequencerReset(): void
}

export interface SequencerModules {
  engine: SequencerEngine
  attributes: SequencerAttributes
  origins: SequencerOrigins
  /** By default this sequencer is the only one. */
  conductor?: Conductor
  /** Sees to it that peers get a block, which is this node's head by then. */
  publish: (envelope: PayloadEnvelope) => void
  /** Asks for a reset of heads and pipeline; resolves when it is done. */
  requestReset: () => Promise<void>
  /** Called when building starts or stops, before the change is reported to the caller. */
  onActiveChange?: (active: boolean) => Promise<void>
  metrics: SequencerMetrics
  clock: Clock
  logger: Logger
}
