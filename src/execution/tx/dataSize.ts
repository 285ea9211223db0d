import { estimatedDaSize, fjordDataFee, type L1FeeParams } from '../../rollup/protocol/fees/fees.ts'
import { fastLzLength } from '../../rollup/protocol/index.ts'

const lengths = new WeakMap<Uint8Array, number>()

/**
 * FastLZ length of a transaction's encoding, which must not change. Cached: it takes 25 µs, and half a millisecond at
 * 128 kB.
 */
export function fastLzLengthOf(raw: Uint8Array): number {
  let length = lengths.get(raw)
  if (length === undefined) {
    length = fastLzLength(raw)
    lengths.set(raw, length)
  }
  return length
}

/** Fjord's estimate of the compressed bytes, at least 100. */
export function daSizeOf(raw: Uint8Array): number {
  return estimatedDaSize(fastLzLengthOf(raw))
}

/** L1 data fee by Fjord's formula, in wei. */
export function fjordFeeOf(raw: Uint8Array, params: L1FeeParams): bigint {
  return fjordDataFee(fastLzLengthOf(raw), params).fee
}
