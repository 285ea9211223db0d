import type { Hex } from '../../../lib/hex.ts'
import type { TransactionList } from '../payload/transactionList.ts'
import { type FieldName, TRANSACTION_FIELDS } from '../transaction/fields.ts'

export const SPAN_BATCH_TYPE = 1

/** EIP-2718 types that a span batch can hold. `postExec` is unsigned and opaque, and occurs only in Lagoon blocks. */
export const TX_TYPE = { legacy: 0, accessList: 1, dynamicFee: 2, setCode: 4, postExec: 0x7d } as const
export type SpanTxType = (typeof TX_TYPE)[keyof typeof TX_TYPE]
export type SignedTxType = Exclude<SpanTxType, 0x7d>

/**
 * Represents a type byte of 0. It is not a transaction type, but op-node counts it as a legacy transaction when it
 * reads the protected bits. Real type bytes are at most 0x7f.
 */
export const TYPED_ZERO = 0xff

/** The price fields of each type, and the lists after its data. */
export const TX_SHAPE = { 0: shapeOf(0), 1: shapeOf(1), 2: shapeOf(2), 4: shapeOf(4) }

function shapeOf(type: SignedTxType): { prices: readonly FieldName[]; lists: readonly FieldName[] } {
  const names: readonly FieldName[] = TRANSACTION_FIELDS[type]
  return {
    prices: names.slice(names.indexOf('nonce') + 1, names.indexOf('gas')),
    lists: names.slice(names.indexOf('input') + 1, names.indexOf('v')),
  }
}

export function isSignedTxType(type: number): type is SignedTxType {
  return type === 0 || type === 1 || type === 2 || type === 4
}

export function isSpanTxType(type: number): type is SpanTxType {
  return isSignedTxType(type) || type === TX_TYPE.postExec
}

/** One block of a span batch. */
export interface SpanBatchElement {
  timestamp: number
  /** Number of the L1 origin. */
  epochNumber: number
  /** Whether the L1 origin differs from the previous block's. */
  originChanged: boolean
  /** EIP-2718 encodings, without deposits. */
  transactions: Uint8Array[]
}

/**
 * At least one consecutive L2 block, without deposits (specs: delta/span-batches). Data of a block are computed on
 * access, because a small batch may claim ten million blocks.
 * Numbers use 64-bit arithmetic: a value below zero becomes very large. Values above 2^53 are not exact, and no
 * validity rule depends on their exact value.
 */
export interface SpanBatch {
  readonly type: 'span'
  /** First 20 bytes of the parent hash of the first block. */
  readonly parentCheck: Hex
  /** First 20 bytes of the L1 origin hash of the last block. */
  readonly l1OriginCheck: Hex
  /** Exact block number of the last block's L1 origin. */
  readonly l1OriginNumber: bigint
  readonly blockCount: number
  timestampAt(index: number): number
  /** Block number of the block's L1 origin. */
  epochNumberAt(index: number): number
  /** Whether the batch says that the L1 origin differs from the previous block's. */
  originChangedAt(index: number): boolean
  /** EIP-2718 encodings, without deposits. */
  transactionsAt(index: number): TransactionList
  /** All blocks; for tools and tests. */
  readonly elements: SpanBatchElement[]
}
