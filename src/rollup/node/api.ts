import type { Hex } from '../../lib/hex.ts'
import type { HeadNews, HealthReport } from '../../p2p/index.ts'
import type { DerivationListener } from '../derive/index.ts'
import type { BlockId, L2BlockRef, PayloadEnvelope, RollupConfig, SyncStatus } from '../protocol/types.ts'
import type { BlockDetails } from './blockDetails.ts'
import type { BlockTimes } from './blockTimes.ts'
import type { DerivationStatus } from './derivationStatus.ts'
import type { NodeHealth } from './health/healthWatch.ts'
import type { SdmStatus } from './sdmOptIn.ts'

/**
 * What a running rollup node answers and lets an operator do: the only view that the RPC server has of it. Failures
 * are DeviumErrors whose message is op-node's wording where clients are known to look at it.
 */
export interface RollupNodeApi {
  readonly rollupConfig: RollupConfig
  /** Heads as last known; zero references until first seen, and while a reset is pending. */
  syncStatus(): SyncStatus
  /** Tells whenever a head of either layer has moved; the returned function ends that. */
  onHeads(listener: () => void): () => void
  /** Tells what the derivation stages tell; the returned function ends that. */
  onDerivation(listener: DerivationListener): () => void
  /** When what happened to the last blocks here; the highest first. */
  recentBlocks(): BlockTimes[]
  /** A block by its hash; undefined where the engine does not have it. */
  block(hash: Hex): Promise<BlockDetails | undefined>
  /** Output root of a canonical L2 block; rejects when the engine does not have it. */
  outputAtBlock(number: number): Promise<OutputAtBlock>
  /** Safe head as it was after an L1 block; rejects with code `safe-db-disabled` when no history is kept. */
  safeHeadAtL1Block(l1BlockNumber: number): Promise<SafeHeadAtL1Block>
  /** Why the safe head stands where it does. */
  derivationStatus(): DerivationStatus
  /** How the node is as a whole, and why. */
  health(): Promise<NodeHealth>
  /**
   * Output of the chain's block at a timestamp, with the L1 block that made it safe; without `chain` above the safe head.
   * Rejects with code `safe-db-disabled` when no history is kept.
   */
  superRootAtTimestamp(timestamp: number): Promise<SuperRootAtTimestamp>
  /** Resolves when the reset has been carried out. */
  resetDerivationPipeline(): Promise<void>
  /** Without a hash: on the current unsafe head. Otherwise the hash must be that of the unsafe head. */
  startSequencer(unsafeHead?: Hex): Promise<void>
  /**
   * Resolves with the unsafe head's hash once the last published block has become the head. A call meanwhile joins the same
   * stop.
   */
  stopSequencer(): Promise<Hex>
  /** False on nodes without a sequencer. */
  sequencerActive(): boolean
  /** Takes the lead without asking the conductor, until the process ends; nothing to do where there is none. */
  overrideLeader(): void
  /** False on nodes without a sequencer, too. */
  conductorEnabled(): boolean
  /** Blocks with forced transactions only, on the origins that derivation would take; no effect without a sequencer. */
  setRecoverMode(isOn: boolean): void
  /** Whether the sequencer's blocks refund gas from Lagoon on; rejects on nodes without a sequencer, and when the engine does not answer. */
  setSdmPostExecOptIn(optIn: boolean): Promise<void>
  /** At a time in Unix seconds; absent: now. Never opted in on nodes without a sequencer. */
  sdmStatus(timestamp?: number): SdmStatus
  /** Queues a block as if it had come by gossip, after recomputing its hash; signature and scoring are not asked. */
  postUnsafePayload(envelope: PayloadEnvelope): Promise<void>
}

export interface OutputAtBlock {
  /** 32 zero bytes: output version 0. */
  version: Hex
  outputRoot: Hex
  blockRef: L2BlockRef
  /** Storage root of the L2ToL1MessagePasser. */
  withdrawalStorageRoot: Hex
  stateRoot: Hex
  syncStatus: SyncStatus
}

export interface SafeHeadAtL1Block {
  l1Block: BlockId
  safeHead: BlockId
}

export interface SuperRootAtTimestamp {
  currentL1: BlockId
  safeTimestamp: number
  localSafeTimestamp: number
  finalizedTimestamp: number
  chainId: bigint
  chain?: {
    timestamp: number
    output: Omit<OutputAtBlock, 'syncStatus'>
    /** L1 block with whose data the block became safe. */
    requiredL1: BlockId
    superRoot: Hex
  }
}

/** The peer-to-peer host as the node sees it. */
export interface P2pPort {
  /** Signs and gossips a block that this node's sequencer made. */
  publish(envelope: PayloadEnvelope): Promise<void>
  /** Blocks that passed gossip validation. */
  onPayload(listener: (envelope: PayloadEnvelope, from: string, way: 'gossip' | 'request') => void): void
  /**
   * Asks peers for the blocks start (inclusive) to end (exclusive), ancestors of `above`, the block at `end`; they
   * arrive through `onPayload`. False when there is nobody to ask.
   */
  requestRange?(start: number, end: number, above: PayloadEnvelope): boolean
  /** Hears what moved the unsafe head, so that it can tell when blocks come by L1 only. */
  headMoved?(news: HeadNews): void
  /** Whether blocks come by gossip, and if not, why. */
  health?(): Promise<HealthReport>
}
export type { BlockDetails } from './blockDetails.ts'
export type { BlockTimes } from './blockTimes.ts'
export type { DerivationStatus } from './derivationStatus.ts'
export type { NodeHealth } from './health/healthWatch.ts'
