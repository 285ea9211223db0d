import type { Hex } from '../../../lib/hex.ts'
import type { TransactionList } from '../payload/transactionList.ts'
import { type FieldName, TRANSACTION_FIELDS } from '../transaction/fields.ts'

export const SPAN_BATCH_TYPE = 1

/** EIP-2718 types that a span batch can hold. `postExec` is unsigned and opaque, and stands in blocks of Lagoon only. */
export const TX_TYPE = { legacy: 0, accessList: 1, dynamicFee: 2, setCode: 4, postExec: 0x7d } as const
export type SpanTxType = (typeof TX_TYPE)[keyof typeof TX_TYPE]
export type SignedTxType = Exclude<SpanTxType, 0x7d>

/**
 * Stands for a type byte of 0: no transaction type, but the reference node counts it among the legacy transactions when it reads the
 * protected bits. No type byte is above 0x7f.
 */
export const TYPED_ZERO = 0xff

/** The price fields of each type, and the lists behind its data. */
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

/** Whether a batch may carry transactions of the type. */
export function isSpanTxType(type: number): type is SpanTxType {
  return isSignedTxType(type) || type === TX_TYPE.postExec
}

/** One block of a span. */
export interface SpanBatchElement {
  timestamp: number
  /** Number of the L1 origin. */
  epochNumber: number
  /** Whether the L1 origin is another one than that of the block before. */
  originChanged: boolean
  /** EIP-2718 encodings, without deposits. */
  transactions: Uint8Array[]
}

/**
 * Consecutive L2 blocks without their deposits (specs: delta/span-batches), at least one. What belongs to a block is made when it is asked
 * for: a batch of few bytes may claim ten million of them. Numbers are those of 64-bit arithmetic, so that one below zero is
 * a very large one, and are rounded beyond 2^53, where no rule of validity tells them apart.
 */
export interface SpanBatch {
  readonly type: 'span'
  /** First 20 bytes of the parent hash of the first block. */
  readonly parentCheck: Hex
  /** First 20 bytes of the L1 origin hash of the last block. */
  readonly l1OriginCheck: Hex
  /** Number of the last block's L1 origin, exact. */
  readonly l1OriginNumber: bigint
  readonly blockCount: number
  timestampAt(index: number): number
  /** Number of the block's L1 origin. */
  epochNumberAt(index: number): number
  /** Whether the batch says that the L1 origin is another one than that of the block before. */
  originChangedAt(index: number): boolean
  /** EIP-2718 encodings, without deposits. */
  transactionsAt(index: number): TransactionList
  /** All blocks; for tools and tests. */
  readonly elements: SpanBatchElement[]
}
