import type { EndpointState } from '../../jsonRpc/endpointWatch.ts'
import type { AwaitedBlobs, L1HeadProblem } from '../../l1/index.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { EngineClient, StartHeadsOptions, SyncOptions } from '../engine/index.ts'
import type { L1BlockRef, L1Transaction } from '../protocol/types.ts'
import type { Conductor, SequencerAttributes } from '../sequencer/index.ts'
import type { P2pPort } from './api.ts'
import type { Pipeline } from './derivationLoop.ts'
import type { DerivationRecorder } from './derivationRecorder.ts'
import type { FollowModules } from './followLoop.ts'
import type { EngineForkCheck } from './forkWatch.ts'
import type { WatchedBatcher } from './health/batcherWatch.ts'
import type { NodeMetrics } from './metrics.ts'
import type { SafeHeadDb } from './safeHeadDb.ts'
import type { SdmOptInOptions } from './sdmOptIn.ts'

/** L1 as the node itself reads it: finding heads, origins and finality. */
export interface NodeL1 {
  blockInfoByHash(hash: Hex): Promise<L1BlockRef | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
  /** With the deposits of a block, kept for who asks again. */
  receipts(hash: Hex): Promise<unknown>
  /** Absent where nobody asks what the batch submitter has posted. */
  transactions?(hash: Hex): Promise<{ transactions: L1Transaction[] }>
}

/** Tells of new L1 blocks; listeners are added before the node runs. */
export interface NodeL1Heads {
  onHead(listener: (ref: L1BlockRef) => void): void
  onSafe(listener: (ref: L1BlockRef) => void): void
  onFinalized(listener: (ref: L1BlockRef) => void): void
}

export interface RollupNodeModules {
  l1: NodeL1
  l1Heads: NodeL1Heads
  engine: EngineClient
  pipeline: Pipeline
  /** Present in follow mode: another node's safe head is taken over, and nothing is derived. */
  follow?: FollowModules['source'] | undefined
  /** Present on nodes that may sequence, or follow. */
  attributes?: SequencerAttributes
  /** Present on one of several sequencers. */
  conductor?: Conductor
  /** Absent with p2p disabled. */
  p2p?: P2pPort
  /** What is known beside the node of why derivation may wait. */
  insight?: NodeInsight
  /** Absent: no history of safe heads is kept. */
  safeHeads?: SafeHeadDb | undefined
  metrics: NodeMetrics
  clock: Clock
  logger: Logger
}

/** Where the reasons for a safe head that stands still are found; each part may be absent. */
export interface NodeInsight {
  /** The one that listens to the pipeline. */
  recorder?: DerivationRecorder
  l1Endpoint?: () => EndpointState
  engineEndpoint?: () => EndpointState
  l1HeadProblem?: () => L1HeadProblem | undefined
  awaitedBlobs?: () => AwaitedBlobs | undefined
  /** Absent where the node knows of none. */
  batcher?: WatchedBatcher | undefined
  /** L1 blocks that must stand on top of one that derivation reads. */
  confirmations?: number
  /** Whether the engine is ready for a fork ahead. */
  engineForkCheck?: EngineForkCheck
}

export interface SequencingOptions {
  /** False: wait for admin_startSequencer. */
  active: boolean
  /** L1 blocks that must stand on top of an origin. */
  confirmationDepth: number
  sealingMarginMs?: number
  recoverMode?: boolean
  /** Records a start or stop, so that it outlives the process. */
  onActiveChange?: (active: boolean) => Promise<void>
  /** Refunds by a post-exec transaction; absent: the operator has not opted in. */
  sdm?: SdmOptInOptions
}

export interface RollupNodeOptions {
  /** What the operator calls the node. */
  name?: string | undefined
  /** Absent: a verifier. */
  sequencing?: SequencingOptions
  /** Age at which peers refuse a block. Default 60 s. */
  gossipWindowMs?: number
  /** How the unsafe chain is followed; default consensus-layer sync. */
  sync?: SyncOptions
  /** How heads are found at the start and after a reset. */
  startHeads?: Omit<StartHeadsOptions, 'signal'>
  /** Reads the message passer's storage root by eth_getProof also after Isthmus. */
  withdrawalRootFromState?: boolean
}
