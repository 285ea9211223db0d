import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import { isForkActive } from '../protocol/index.ts'
import { FORKS, type Fork, type L1BlockRef, type L2BlockRef, type RollupConfig } from '../protocol/types.ts'
import { createAttributesBuilder } from './attributesBuilder.ts'
import { AttributesQueue } from './attributesQueue.ts'
import { BatchQueue } from './batchQueue.ts'
import { BatchStage } from './batchStage.ts'
import { ChannelAssembler } from './channelAssembler.ts'
import { ChannelBank } from './channelBank.ts'
import { ChannelReader } from './channelReader.ts'
import { DerivationError } from './errors.ts'
import { type DerivationListener, ignoreEvents } from './events.ts'
import { FrameQueue } from './frameQueue.ts'
import { L1Retrieval } from './l1Retrieval.ts'
import { L1Traversal } from './l1Traversal.ts'
import { L1Window } from './l1Window.ts'
import { findResetPoint } from './resetPoint.ts'
import type { AttributesBuilder, BlobSource, L1Source, L2Source, StepResult } from './types.ts'

export interface DerivationModules {
  l1: L1Source
  l2: L2Source
  logger: Logger
  clock?: Clock
  /** Without it, a blob transaction of the batcher is a critical error. */
  blobs?: BlobSource | undefined
  /** Receives the events of the stages. */
  listener?: DerivationListener
}

/**
 * Derives payload attributes from L1 (specs: derivation, "L2 Chain Derivation Pipeline"). Calls must not overlap. All
 * errors have a severity. After a temporary error, repeat the call. After a reset error, call `reset` first.
 */
export interface DerivationPipeline {
  /** The L1 block of the traversal stage (`current_l1`). Throws `pipeline-not-ready` before the first reset. */
  readonly origin: L1BlockRef
  /** Restarts on this safe head and drops all data. */
  reset(safeHead: L2BlockRef, signal?: AbortSignal): Promise<void>
  /**
   * One bounded unit of work. Attributes are returned once. The next call must pass the block built from them or, after
   * `flushChannel`, the block that replaced it.
   */
  step(pendingSafe: L2BlockRef, signal?: AbortSignal): Promise<StepResult>
  /** Under Holocene rules, drops the rest of the channel, because the last attributes were invalid. */
  flushChannel(): void
}

/** A step yields to the event loop after working for this time. */
const YIELD_AFTER_MS = 8

/** The stages, created by a reset or by the activation of Holocene. */
interface Stages {
  traversal: L1Traversal
  retrieval: L1Retrieval
  window: L1Window
  attributes: AttributesQueue
  holocene: boolean
}

export function createDerivationPipeline(modules: DerivationModules, config: RollupConfig): DerivationPipeline {
  const { l1, l2, logger, clock = systemClock, listener: emit = ignoreEvents } = modules
  const builder = createAttributesBuilder({ l1, l2 }, config)
  const upper = { l2, logger, builder, emit, config }
  let stages: Stages | undefined
  let yieldedAt = clock.now()

  const ready = (): Stages => {
    if (stages !== undefined) return stages
    throw new DerivationError(
      'pipeline-not-ready',
      'reset',
      'the derivation pipeline has not been reset to a starting point yet',
    )
  }

  const yieldIfBusy = async () => {
    if (clock.now() - yieldedAt < YIELD_AFTER_MS) return
    await nextTurn()
    yieldedAt = clock.now()
  }

  return {
    get origin() {
      return ready().traversal.origin
    },

    async reset(safeHead, signal) {
      signal?.throwIfAborted()
      stages = undefined
      const { origin, systemConfig } = await findResetPoint({ l1, l2 }, { config, safeHead, signal })
      const traversal = new L1Traversal(l1, { config, origin, systemConfig })
      const retrieval = new L1Retrieval({ prev: traversal, l1, blobs: modules.blobs, logger, emit }, config)
      const lower = { traversal, retrieval, window: new L1Window(origin) }
      const holocene = isForkActive(config, 'holocene', origin.timestamp)
      stages = { ...lower, attributes: upperStages(lower, { holocene }, upper), holocene }
      emit({ kind: 'started', l1Block: origin.number })
      logger.info('Derivation starts', { l1: origin.number, l1Hash: origin.hash, safe: safeHead.number })
    },

    async step(pendingSafe, signal) {
      signal?.throwIfAborted()
      await yieldIfBusy()
      const current = ready()
      const pulled = await current.attributes.next(pendingSafe)
      if (pulled === 'again') return { kind: 'progress' }
      if (pulled !== 'empty') return { kind: 'attributes', derived: pulled }
      const before = current.traversal.origin
      if (!(await current.traversal.advance())) return { kind: 'idle' }
      const { origin } = current.traversal
      if (!current.holocene && firstForkBetween(config, before, origin) === 'holocene') {
        // Data of the previous rules are dropped; the known L1 blocks stay (specs: holocene/derivation, "Activation").
        logger.info('Derivation switches to Holocene rules', { l1: origin.number })
        const attributes = upperStages(current, { holocene: true }, upper)
        emit({ kind: 'started', l1Block: origin.number })
        stages = { ...current, attributes, holocene: true }
      }
      return { kind: 'origin', origin }
    },

    flushChannel() {
      stages?.attributes.flushChannel()
    },
  }
}

/**
 * The first fork that activates between two L1 blocks. Like op-node, this considers only the first: an earlier fork in
 * the same gap hides Holocene's stages until the next reset.
 */
function firstForkBetween(config: RollupConfig, before: L1BlockRef, after: L1BlockRef): Fork | undefined {
  return FORKS.find(
    (fork) => isForkActive(config, fork, after.timestamp) && !isForkActive(config, fork, before.timestamp),
  )
}

interface UpperModules {
  l2: L2Source
  logger: Logger
  builder: AttributesBuilder
  emit: DerivationListener
  config: RollupConfig
}

/** The stages above retrieval, under the rules before or since Holocene. */
function upperStages(
  { retrieval, window }: Pick<Stages, 'retrieval' | 'window'>,
  { holocene }: { holocene: boolean },
  { l2, logger, builder, emit, config }: UpperModules,
): AttributesQueue {
  const frames = new FrameQueue({ prev: retrieval, logger, emit }, config)
  const channels = holocene
    ? new ChannelAssembler({ prev: frames, logger, emit }, config)
    : new ChannelBank({ prev: frames, logger, emit }, config)
  const reader = new ChannelReader({ prev: channels, logger, emit }, config)
  const modules = { prev: reader, l2, window, logger, emit }
  const batches = holocene ? new BatchStage(modules, config) : new BatchQueue(modules, config)
  return new AttributesQueue({ prev: batches, builder }, config)
}
