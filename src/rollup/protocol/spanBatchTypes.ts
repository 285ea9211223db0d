import type { Hex } from '../../lib/hex.ts'

export const SPAN_BATCH_TYPE = 1

/** EIP-2718 types that a span batch can hold. */
export const TX_TYPE = { legacy: 0, accessList: 1, dynamicFee: 2, setCode: 4 } as const
export type SpanTxType = (typeof TX_TYPE)[keyof typeof TX_TYPE]

/**
 * Stands for a type byte of 0: no transaction type, but the reference node counts it among the legacy transactions when it reads the
 * protected bits. No type byte is above 0x7f.
 */
export const TYPED_ZERO = 0xff

/** Price fields: gasPrice, or maxPriorityFeePerGas and maxFeePerGas. Lists after the data: access list, authorizations. */
export const TX_SHAPE: Record<SpanTxType, { prices: number; lists: number }> = {
  0: { prices: 1, lists: 0 },
  1: { prices: 1, lists: 1 },
  2: { prices: 2, lists: 1 },
  4: { prices: 2, lists: 2 },
}

export function isSpanTxType(type: number): type is SpanTxType {
  return type === 0 || type === 1 || type === 2 || type === 4
}

/** One block of a span. */
export interface SpanBatchElement {
  timestamp: number
  /**
   * Number of the L1 origin. Below zero when the batch claims more origin changes than there can be, and rounded beyond
   * 2^53: neither is ever valid.
   */
  epochNumber: number
  /** Whether the L1 origin is another one than that of the block before. */
  originChanged: boolean
  /** EIP-2718 encodings, without deposits. */
  transactions: Uint8Array[]
}

/** Consecutive L2 blocks without their deposits (specs: delta/span-batches). */
export interface SpanBatch {
  type: 'span'
  /** First 20 bytes of the parent hash of the first block. */
  parentCheck: Hex
  /** First 20 bytes of the L1 origin hash of the last block. */
  l1OriginCheck: Hex
  /** Number of the last block's L1 origin, exact. */
  l1OriginNumber: bigint
  /** At least one. */
  elements: SpanBatchElement[]
}
