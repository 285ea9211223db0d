import type { EndpointState } from '../../jsonRpc/endpointWatch.ts'
import type { AwaitedBlobs, L1HeadProblem } from '../../l1/index.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { AttributesBuilder, DerivationPipeline } from '../derive/index.ts'
import type { EngineClient, L1Lookup, StartHeadsOptions, SyncOptions } from '../engine/index.ts'
import type { L1BlockRef, L1Transaction } from '../protocol/types.ts'
import type { Conductor } from '../sequencer/index.ts'
import type { P2pPort } from './api.ts'
import type { DerivationRecorder } from './derivationRecorder.ts'
import type { FinalityOptions } from './finality.ts'
import type { FollowModules } from './followLoop.ts'
import type { EngineForkCheck } from './forkWatch.ts'
import type { WatchedBatcher } from './health/batcherWatch.ts'
import type { NodeMetrics } from './metrics.ts'
import type { SafeHeadDb } from './safeHeadDb.ts'
import type { SdmOptInOptions } from './sdmOptIn.ts'

/** L1, as the node uses it: for finding heads, origins and finality. */
export interface NodeL1 extends L1Lookup {
  /** Includes the deposits of a block. Cached for later reads. */
  receipts(hash: Hex): Promise<unknown>
  /** Absent if the batch submitter's transactions are not read. */
  transactions?(hash: Hex): Promise<{ transactions: L1Transaction[] }>
}

/** Notifies of new L1 blocks. Add listeners before the node runs. */
export interface NodeL1Heads {
  onHead(listener: (ref: L1BlockRef) => void): void
  onSafe(listener: (ref: L1BlockRef) => void): void
  onFinalized(listener: (ref: L1BlockRef) => void): void
}

export interface RollupNodeModules {
  l1: NodeL1
  l1Heads: NodeL1Heads
  engine: EngineClient
  pipeline: DerivationPipeline
  /** Present in follow mode: the node adopts another node's safe head and derives nothing. */
  follow?: FollowModules['source'] | undefined
  /** Present on nodes that may sequence or follow. */
  attributes?: AttributesBuilder | undefined
  /** Present if this is one of several sequencers. */
  conductor?: Conductor | undefined
  /** Absent with p2p disabled. */
  p2p?: P2pPort | undefined
  /** External information about why derivation may be waiting. */
  insight?: NodeInsight
  /** Absent: no history of safe heads is kept. */
  safeHeads?: SafeHeadDb | undefined
  metrics: NodeMetrics
  clock: Clock
  logger: Logger
}

/** Sources of the reasons for a halted safe head. Each part may be absent. */
export interface NodeInsight {
  /** The recorder that listens to the pipeline. */
  recorder?: DerivationRecorder
  l1Endpoint?: () => EndpointState
  engineEndpoint?: () => EndpointState
  l1HeadProblem?: () => L1HeadProblem | undefined
  awaitedBlobs?: () => AwaitedBlobs | undefined
  /** Absent if the node knows no batch submitter. */
  batcher?: WatchedBatcher | undefined
  /** Number of confirmations before derivation reads an L1 block. */
  confirmations?: number
  engineForkCheck?: EngineForkCheck
}

export interface SequencingOptions {
  /** False: wait for admin_startSequencer. */
  active: boolean
  /** Number of confirmations before an L1 block becomes an origin. */
  confirmationDepth: number
  sealingMarginMs?: number
  recoverMode?: boolean
  /** Records a start or stop, so that it survives a restart. */
  onActiveChange?: (active: boolean) => Promise<void>
  /** Refunds by a post-exec transaction. Absent: the operator has not opted in. */
  sdm?: SdmOptInOptions
}

export interface RollupNodeOptions {
  /** The operator's name for the node. */
  name?: string | undefined
  /** Absent: a verifier. */
  sequencing?: SequencingOptions | undefined
  /** Age at which peers reject a block. Default 60 s. */
  gossipWindowMs?: number
  finality?: FinalityOptions
  /** How the unsafe chain is followed. Default: consensus-layer sync. */
  sync?: SyncOptions
  /** How heads are found at the start and after a reset. */
  startHeads?: Omit<StartHeadsOptions, 'signal'>
  /** Reads the message passer's storage root with eth_getProof, even after Isthmus. */
  withdrawalRootFromState?: boolean
}
