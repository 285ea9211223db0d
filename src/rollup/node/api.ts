import type { Hex } from '../../lib/hex.ts'
import type { HeadEvent, HealthReport } from '../../p2p/index.ts'
import type { DerivationListener } from '../derive/index.ts'
import type { BlockId, L2BlockRef, PayloadEnvelope, RollupConfig, SyncStatus } from '../protocol/types.ts'
import type { BlockDetails } from './blockDetails.ts'
import type { BlockTimes } from './blockTimes.ts'
import type { DerivationStatus } from './derivationStatus.ts'
import type { NodeHealth } from './health/healthWatch.ts'
import type { SdmStatus } from './sdmOptIn.ts'

/**
 * The interface of a running rollup node; the RPC server sees nothing else of it. Errors are DeviumErrors. Their
 * messages are op-node's where clients are known to check them.
 */
export interface RollupNodeApi {
  readonly rollupConfig: RollupConfig
  /** The current heads. References are zero until the first is known, and during a pending reset. */
  syncStatus(): SyncStatus
  /** Calls the listener whenever a head of either layer has moved. The returned function unsubscribes. */
  onHeads(listener: () => void): () => void
  /** Forwards the events of the derivation stages. The returned function unsubscribes. */
  onDerivation(listener: DerivationListener): () => void
  /** Timestamps of the last blocks at this node, highest block first. */
  recentBlocks(): BlockTimes[]
  /** A block by its hash; undefined if the engine does not have it. */
  block(hash: Hex): Promise<BlockDetails | undefined>
  /** Output root of a canonical L2 block. Rejects if the engine does not have the block. */
  outputAtBlock(number: number): Promise<OutputAtBlock>
  /** The safe head after an L1 block. Rejects with code `safe-db-disabled` if no history is kept. */
  safeHeadAtL1Block(l1BlockNumber: number): Promise<SafeHeadAtL1Block>
  /** The position of the safe head, and the reason for it. */
  derivationStatus(): DerivationStatus
  /** The health of the whole node, with causes. */
  health(): Promise<NodeHealth>
  /**
   * Output of the chain's block at a timestamp, with the L1 block that made it safe. `chain` is absent above the safe
   * head. Rejects with code `safe-db-disabled` if no history is kept.
   */
  superRootAtTimestamp(timestamp: number): Promise<SuperRootAtTimestamp>
  /** Resolves when the reset is complete. */
  resetDerivationPipeline(): Promise<void>
  /** Starts on the current unsafe head. If `unsafeHead` is given, it must be the head's hash. */
  startSequencer(unsafeHead?: Hex): Promise<void>
  /**
   * Resolves with the unsafe head's hash when the last published block has become the head. A call during a pending
   * stop waits for the same stop.
   */
  stopSequencer(): Promise<Hex>
  /** False on nodes without a sequencer. */
  sequencerActive(): boolean
  /** Until the process ends, counts as the leader without a request to the conductor. No effect without a conductor. */
  overrideLeader(): void
  /** False also on nodes without a sequencer. */
  conductorEnabled(): boolean
  /**
   * Builds blocks with forced transactions only, on the origins that derivation would choose. No effect without a
   * sequencer.
   */
  setRecoverMode(isOn: boolean): void
  /**
   * Sets whether the sequencer's blocks refund gas since Lagoon. Rejects on nodes without a sequencer, and if the
   * engine does not answer.
   */
  setSdmPostExecOptIn(optIn: boolean): Promise<void>
  /** At a Unix time in seconds; absent: now. Never opted in on nodes without a sequencer. */
  sdmStatus(timestamp?: number): SdmStatus
  /** Queues a block like a gossiped block, after recomputing its hash. Signature and scores are not checked. */
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
    /** The L1 block whose data made the block safe. */
    requiredL1: BlockId
    superRoot: Hex
  }
}

/** The peer-to-peer host, as the node uses it. */
export interface P2pPort {
  /** Signs and gossips a block of this node's sequencer. */
  publish(envelope: PayloadEnvelope): Promise<void>
  /** Blocks that passed gossip validation. */
  onPayload(listener: (envelope: PayloadEnvelope, from: string, way: 'gossip' | 'request') => void): void
  /**
   * Requests the blocks from start (inclusive) to end (exclusive) from peers. They are ancestors of `above`, the block
   * at `end`, and arrive through `onPayload`. Returns false if the blocks cannot be requested.
   */
  requestRange?(start: number, end: number, above: PayloadEnvelope): boolean
  /** Called with what moved the unsafe head, so that it notices when blocks come by L1 only. */
  headMoved?(event: HeadEvent): void
  /** Whether blocks arrive by gossip, and if not, why. */
  health?(): Promise<HealthReport>
}
export type { BlockDetails } from './blockDetails.ts'
export type { BlockTimes } from './blockTimes.ts'
export type { DerivationStatus } from './derivationStatus.ts'
export type { NodeHealth } from './health/healthWatch.ts'
