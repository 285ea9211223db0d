import type { Hex } from '../../lib/hex.ts'
import type {
  BlockId,
  L1BlockInfo,
  L1BlockRef,
  L1Receipt,
  L1Transaction,
  L2BlockRef,
  PayloadAttributes,
  PayloadEnvelope,
  SystemConfig,
} from '../protocol/types.ts'

/** The part of L1 that derivation reads. A missing block is `undefined`, or an error with code `l1-not-found`. */
export interface L1Source {
  blockInfoByHash(hash: Hex): Promise<L1BlockInfo | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockInfo | undefined>
  transactions(hash: Hex): Promise<{ info: L1BlockInfo; transactions: L1Transaction[] }>
  receipts(hash: Hex): Promise<{ info: L1BlockInfo; receipts: L1Receipt[] }>
}

/** Blobs of an L1 block by versioned hash, in the same order; `undefined` = a reorg removed the block. */
export interface BlobSource {
  blobs(block: L1BlockRef, versionedHashes: readonly Hex[]): Promise<Uint8Array[] | undefined>
}

/** The part of the L2 chain that derivation reads. */
export interface L2Source {
  blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined>
  blockRefByNumber(number: number): Promise<L2BlockRef | undefined>
  payloadByNumber(number: number): Promise<PayloadEnvelope | undefined>
  systemConfigByL2Hash(hash: Hex): Promise<SystemConfig>
}

/** Attributes of the next L2 block, derived from L1. */
export interface DerivedAttributes {
  attributes: PayloadAttributes
  parent: L2BlockRef
  /** The L1 block whose data completed the batch. */
  derivedFrom: L1BlockRef
  /** Whether the safe head may move to this block: false inside a span batch before Holocene. */
  isLastInSpan: boolean
}

export type StepResult =
  | { kind: 'attributes'; derived: DerivedAttributes }
  /** Traversal moved to this L1 block. */
  | { kind: 'origin'; origin: L1BlockRef }
  | { kind: 'progress' }
  /** Waiting for the next L1 block. */
  | { kind: 'idle' }

/** The result of pulling a stage: an item; `again` = work was done, pull again; `empty` = nothing until L1 advances. */
export type Pull<T> = T | 'again' | 'empty'

export interface AttributesBuilder {
  /**
   * Attributes of the block after `parent` with L1 origin `epoch`: deposits only, `noTxPool` set. Throws
   * DerivationError with severity reset if `epoch` does not follow the parent's origin.
   */
  prepare(parent: L2BlockRef, epoch: BlockId): Promise<PayloadAttributes>
}
