import type { Hex } from '../../lib/hex.ts'
import type { L1BlockRef, L2BlockRef, PayloadAttributes, PayloadEnvelope } from '../protocol/types.ts'

/** Engine API `ForkchoiceStateV1`. */
export interface ForkchoiceState {
  headBlockHash: Hex
  safeBlockHash: Hex
  finalizedBlockHash: Hex
}

/** Engine API `PayloadStatusV1.status`; INVALID_BLOCK_HASH is that of old engines. */
export type PayloadStatusKind = 'VALID' | 'INVALID' | 'SYNCING' | 'ACCEPTED' | 'INVALID_BLOCK_HASH'

export interface PayloadStatus {
  status: PayloadStatusKind
  latestValidHash?: Hex
  validationError?: string
}

export interface ForkchoiceResult {
  payloadStatus: PayloadStatus
  /** Present when attributes were sent and the engine builds on them. */
  payloadId?: Hex
}

export type L2BlockLabel = 'latest' | 'safe' | 'finalized'

/** What the controller needs of an execution engine. `undefined` means that the engine does not have the block. */
export interface Engine {
  /** Sets the heads and, with attributes, starts a block on the new head. */
  forkchoiceUpdated(state: ForkchoiceState, attributes?: PayloadAttributes): Promise<ForkchoiceResult>
  newPayload(envelope: PayloadEnvelope): Promise<PayloadStatus>
  /** `timestamp` is that of the block being built: it chooses the method's version. */
  getPayload(payloadId: Hex, timestamp: number): Promise<PayloadEnvelope>
  payloadByNumber(number: number): Promise<PayloadEnvelope | undefined>
  blockRefByLabel(label: L2BlockLabel): Promise<L2BlockRef | undefined>
  blockRefByNumber(number: number): Promise<L2BlockRef | undefined>
  blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined>
}

export interface EngineHeads {
  /** Tip, gossiped, sequenced or derived. */
  unsafe: L2BlockRef
  /** Last derived block, although the span batch that it belongs to may be incomplete. */
  pendingSafe: L2BlockRef
  /** Last block derived from L1 together with all of its span. */
  safe: L2BlockRef
  /** Derived from finalized L1. */
  finalized: L2BlockRef
}

/** Attributes that the pipeline derived for the block after `parent`. */
export interface DerivedAttributes {
  attributes: PayloadAttributes
  parent: L2BlockRef
  /** The L1 block whose data completed the batch. */
  derivedFrom: L1BlockRef
  /** The block makes its span complete: it is safe, not only pending. */
  isLastInSpan: boolean
}
