import type { Hex } from '../../lib/hex.ts'
import type { L2BlockRef, PayloadAttributes, PayloadEnvelope } from '../protocol/types.ts'

/** Engine API `ForkchoiceStateV1`. */
export interface ForkchoiceState {
  headBlockHash: Hex
  safeBlockHash: Hex
  finalizedBlockHash: Hex
}

/** Engine API `PayloadStatusV1.status`. Only old engines return INVALID_BLOCK_HASH. */
export type PayloadStatusKind = 'VALID' | 'INVALID' | 'SYNCING' | 'ACCEPTED' | 'INVALID_BLOCK_HASH'

export interface PayloadStatus {
  status: PayloadStatusKind
  latestValidHash?: Hex
  validationError?: string
}

export interface ForkchoiceResult {
  payloadStatus: PayloadStatus
  /** Present if attributes were sent and the engine builds on them. */
  payloadId?: Hex
}

export type L2BlockLabel = 'latest' | 'safe' | 'finalized'

/**
 * The part of an execution engine that the controller uses. `undefined` means that the engine does not have the block.
 */
export interface Engine {
  /** Sets the heads. With attributes, it also starts a block on the new head. */
  forkchoiceUpdated(state: ForkchoiceState, attributes?: PayloadAttributes): Promise<ForkchoiceResult>
  newPayload(envelope: PayloadEnvelope): Promise<PayloadStatus>
  /** `timestamp` is the timestamp of the block being built. It selects the method's version. */
  getPayload(payloadId: Hex, timestamp: number): Promise<PayloadEnvelope>
  payloadByNumber(number: number): Promise<PayloadEnvelope | undefined>
  blockRefByLabel(label: L2BlockLabel): Promise<L2BlockRef | undefined>
  blockRefByNumber(number: number): Promise<L2BlockRef | undefined>
  blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined>
}

/** Access to the heads, through their only owner. */
export interface HeadsOwner {
  readonly heads: EngineHeads
  move(changes: Partial<EngineHeads>): void
}

export interface EngineHeads {
  /** The tip: gossiped, sequenced or derived. */
  unsafe: L2BlockRef
  /** The last derived block. Its span batch may be incomplete. */
  pendingSafe: L2BlockRef
  /** The last block derived from L1 whose span batch is complete. */
  safe: L2BlockRef
  /** The last block derived from finalized L1 data. */
  finalized: L2BlockRef
}
