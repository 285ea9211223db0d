import { countZeros } from '../../lib/bytes.ts'
import { DeviumError } from '../../lib/errors.ts'

/** The L1's present fees, raised to the operator's minima. Wei per gas. */
export interface FeeSuggestion {
  tip: bigint
  baseFee: bigint
  /** Undefined if the L1 has no blobs. */
  blobBaseFee?: bigint | undefined
  /** Gas limit of an L1 block. Undefined if the header has none. */
  blockGasLimit?: bigint | undefined
  /** Whether the L1's head is a Glamsterdam block. Glamsterdam raises the price of calldata. */
  isGlamsterdam?: boolean
  /** The operator's lowest blob fee cap. Default `DEFAULT_MIN_BLOB_FEE_WEI`. */
  minBlobFeeCap?: bigint
}

/** An L1 pool accepts only one kind from an account at a time. */
export type TxKind = 'calldata' | 'blobs'

/** Fees of one published version. Wei per gas. */
export interface FeeCaps {
  tip: bigint
  feeCap: bigint
  /** Wei per blob gas. Blob transactions only. */
  blobFeeCap?: bigint | undefined
}

export interface FeeLimits {
  feeLimitMultiplier: bigint
  /** Fees below this are always allowed. Wei per gas. */
  feeLimitThresholdWei: bigint
}

/** geth's pool replaces a pending transaction only if tip and fee cap both rise by 10 %. */
const PRICE_BUMP_PERCENT = 10n
/** geth's blob pool requires tip, fee cap and blob fee cap to double. */
const BLOB_PRICE_BUMP_PERCENT = 100n
/** op-batcher's lowest blob fee cap. Some pools refuse blob transactions below it. Wei per blob gas. */
export const DEFAULT_MIN_BLOB_FEE_WEI = 1_000_000_000n

/** Fees of a first version. */
export function firstFees(suggestion: FeeSuggestion, kind: TxKind): FeeCaps {
  const fees = { tip: suggestion.tip, feeCap: feeCapOf(suggestion) }
  return kind === 'calldata' ? fees : { ...fees, blobFeeCap: blobFeeCapOf(suggestion) }
}

/** Covers six full blocks of rising base fee. */
export function feeCapOf(suggestion: FeeSuggestion): bigint {
  return suggestion.tip + 2n * suggestion.baseFee
}

/** Covers six blocks of rising blob base fee. */
function blobFeeCapOf({
  blobBaseFee = 0n,
  minBlobFeeCap = DEFAULT_MIN_BLOB_FEE_WEI,
}: Pick<FeeSuggestion, 'blobBaseFee' | 'minBlobFeeCap'>): bigint {
  return larger(2n * blobBaseFee, minBlobFeeCap)
}

/**
 * Fees of the version that replaces `old`. Tip and fee cap rise to the pool's threshold at least, or to the L1's
 * present suggestion. If only the suggested fee cap is above its threshold, the fee cap is computed again from the
 * raised tip. Fees of a blob transaction double.
 */
export function bumpFees({ tip: oldTip, feeCap: oldFeeCap, blobFeeCap }: FeeCaps, suggestion: FeeSuggestion): FeeCaps {
  const percent = blobFeeCap === undefined ? PRICE_BUMP_PERCENT : BLOB_PRICE_BUMP_PERCENT
  const threshold = (old: bigint) => (old * (100n + percent) + 99n) / 100n
  const tip = larger(suggestion.tip, threshold(oldTip))
  const isCapEnough = feeCapOf(suggestion) >= threshold(oldFeeCap)
  const feeCap = isCapEnough ? feeCapOf({ ...suggestion, tip }) : threshold(oldFeeCap)
  if (blobFeeCap === undefined) return { tip, feeCap }
  return { tip, feeCap, blobFeeCap: larger(threshold(blobFeeCap), suggestion.blobBaseFee ?? 0n) }
}

/** Throws FeeLimitError if a bumped fee exceeds the operator's limit, a multiple of the L1's suggestion. */
export function checkFeeLimits(bumped: FeeCaps, suggestion: FeeSuggestion, limits: FeeLimits): void {
  const { feeLimitMultiplier: multiplier, feeLimitThresholdWei: threshold } = limits
  const check = (name: string, fee: bigint, suggested: bigint): void => {
    if (fee < threshold || fee <= multiplier * suggested) return
    throw new FeeLimitError(
      `the next ${name} of ${fee} wei is above ${multiplier} times the suggested ${suggested} wei (--fee-limit-multiplier)`,
    )
  }
  check('tip cap', bumped.tip, suggestion.tip)
  check('fee cap', bumped.feeCap, feeCapOf(suggestion))
  check('blob fee cap', bumped.blobFeeCap ?? 0n, blobFeeCapOf(suggestion))
}

export class FeeLimitError extends DeviumError<'fee-limit'> {
  override readonly name = 'FeeLimitError'
  constructor(message: string) {
    super('fee-limit', message, { severity: 'temporary' })
  }
}

const TX_BASE_GAS = 21_000n
/** EIP-7623: floor price of 10 gas a token; a zero byte is one token, any other byte four. */
const FLOOR_GAS_PER_TOKEN = 10n
/** EIP-2780: 12,000, and 3,000 for another account as the recipient. */
const GLAMSTERDAM_TX_BASE_GAS = 15_000n
/** EIP-7976: a zero byte costs as much as any other byte. */
const GLAMSTERDAM_FLOOR_GAS_PER_BYTE = 64n

/** Gas of a transfer with this calldata from Prague on: the EIP-7623 floor, which is never below the earlier price. */
export function pragueCalldataGas(data: Uint8Array): bigint {
  const zeros = countZeros(data)
  return TX_BASE_GAS + FLOOR_GAS_PER_TOKEN * BigInt(zeros + 4 * (data.length - zeros))
}

/** Gas limit of a transfer with this calldata that is enough both before and after Glamsterdam. */
export function calldataGas(data: Uint8Array): bigint {
  const glamsterdam = GLAMSTERDAM_TX_BASE_GAS + GLAMSTERDAM_FLOOR_GAS_PER_BYTE * BigInt(data.length)
  return larger(pragueCalldataGas(data), glamsterdam)
}

/** The L1's present gas price of a transaction and of each non-zero byte. Compressed data has few zero bytes. */
export function gasPricesOf({ isGlamsterdam = false }: Pick<FeeSuggestion, 'isGlamsterdam'>): {
  perTx: bigint
  perByte: bigint
} {
  return isGlamsterdam
    ? { perTx: GLAMSTERDAM_TX_BASE_GAS, perByte: GLAMSTERDAM_FLOOR_GAS_PER_BYTE }
    : { perTx: TX_BASE_GAS, perByte: 4n * FLOOR_GAS_PER_TOKEN }
}

export function larger(a: bigint, b: bigint): bigint {
  if (a > b) return a
  return b
}
