import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { AttributesBuilder } from '../derive/index.ts'
import type { EngineController } from '../engine/index.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'
import type { Conductor } from './conductorClient.ts'
import type { OriginSelector } from './originSelector.ts'

export interface SequencerMetrics {
  /** `sealingMs`: time from the request to the complete block. `buildingDiffMs`: building time minus block time. */
  sealed(envelope: PayloadEnvelope, sealingMs: number, buildingDiffMs: number): void
  inserted(insertionMs: number): void
  sequencingError(): void
  inconsistentOrigin(): void
  sequencerReset(): void
}

export interface SequencerModules {
  engine: Pick<EngineController, 'ready' | 'heads' | 'subscribe' | 'startBuild' | 'sealBuild' | 'insertSealed'>
  attributes: AttributesBuilder
  origins: Pick<OriginSelector, 'select' | 'isCanonical' | 'prefetch' | 'setRecoverMode' | 'reset'>
  /** Absent: this sequencer is the only one. */
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
