import { countZeros } from '../../lib/bytes.ts'
import { DeviumError } from '../../lib/errors.ts'

/** What the L1 asks for now, raised to the operator's minima. Wei per gas. */
export interface FeeSuggestion {
  tip: bigint
  baseFee: bigint
  /** undefined where the L1 has no blobs. */
  blobBaseFee?: bigint | undefined
  /** Gas that a block of the L1 holds; undefined where the L1 does not tell. */
  blockGasLimit?: bigint | undefined
  /** Whether the L1's head is a block of Glamsterdam, whose calldata cost more. */
  isGlamsterdam?: boolean
  /** The operator's least blob fee cap; absent: `DEFAULT_MIN_BLOB_FEE_WEI`. */
  minBlobFeeCap?: bigint
}

/** An account has transactions of one kind only in an L1's pool. */
export type TxKind = 'calldata' | 'blobs'

/** Fees of one published version. Wei per gas. */
export interface FeeCaps {
  tip: bigint
  feeCap: bigint
  /** Wei per blob gas; blob transactions only. */
  blobFeeCap?: bigint | undefined
}

export interface FeeLimits {
  feeLimitMultiplier: bigint
  /** Fees below this are always allowed. Wei per gas. */
  feeLimitThresholdWei: bigint
}

/** geth's txpool replaces a pending transaction only when tip and fee cap both rise by 10 %. */
const PRICE_BUMP_PERCENT = 10n
/** geth's blob pool asks for twice the tip, the fee cap and the blob fee cap. */
const BLOB_PRICE_BUMP_PERCENT = 100n
/** Least blob fee cap, as op-batcher's: some pools take no blob transaction with less. Wei per blob gas. */
export const DEFAULT_MIN_BLOB_FEE_WEI = 1_000_000_000n

/** Room for six full blocks of rising base fee before the transaction becomes too cheap. */
export function feeCapOf(suggestion: FeeSuggestion): bigint {
  return suggestion.tip + 2n * suggestion.baseFee
}

/** Room for six blocks of rising blob base fee. */
export function blobFeeCapOf({
  blobBaseFee = 0n,
  minBlobFeeCap = DEFAULT_MIN_BLOB_FEE_WEI,
}: Pick<FeeSuggestion, 'blobBaseFee' | 'minBlobFeeCap'>): bigint {
  return larger(2n * blobBaseFee, minBlobFeeCap)
}

function replacementThreshold(old: bigint, bumpPercent: bigint): bigint {
  return (old * (100n + bumpPercent) + 99n) / 100n
}

/**
 * Fees of the version that replaces `old`: at least the txpool's threshold in both values, more where the L1 now asks
 * for more. When only the fee cap rose past its threshold, it is computed anew from the raised tip. A blob transaction's
 * fees double.
 */
export function bumpFees(old: FeeCaps, suggestion: FeeSuggestion): FeeCaps {
  const { blobFeeCap: oldBlobFeeCap } = old
  const percent = oldBlobFeeCap === undefined ? PRICE_BUMP_PERCENT : BLOB_PRICE_BUMP_PERCENT
  const bumped = bumpGasFees(old, suggestion, percent)
  if (oldBlobFeeCap === undefined) return bumped
  const blobFeeCap = larger(replacementThreshold(oldBlobFeeCap, percent), suggestion.blobBaseFee ?? 0n)
  return { ...bumped, blobFeeCap }
}

function bumpGasFees(old: FeeCaps, suggestion: FeeSuggestion, percent: bigint): FeeCaps {
  const tipThreshold = replacementThreshold(old.tip, percent)
  const capThreshold = replacementThreshold(old.feeCap, percent)
  const suggestedCap = feeCapOf(suggestion)
  const tipIsEnough = suggestion.tip >= tipThreshold
  const capIsEnough = suggestedCap >= capThreshold
  if (tipIsEnough) return { tip: suggestion.tip, feeCap: capIsEnough ? suggestedCap : capThreshold }
  if (capIsEnough) return { tip: tipThreshold, feeCap: feeCapOf({ ...suggestion, tip: tipThreshold }) }
  return { tip: tipThreshold, feeCap: capThreshold }
}

/** Throws when a bumped fee passes the operator's limit over what the L1 suggests. */
export function checkFeeLimits(bumped: FeeCaps, suggestion: FeeSuggestion, limits: FeeLimits): void {
  const { feeLimitMultiplier: multiplier, feeLimitThresholdWei: threshold } = limits
  if (bumped.tip >= threshold && bumped.tip > multiplier * suggestion.tip) {
    throw new FeeLimitError(
      `bumped tip cap ${bumped.tip} is over ${multiplier}x multiple of the suggested value ${suggestion.tip}`,
    )
  }
  const capLimit = multiplier * feeCapOf(suggestion)
  if (bumped.feeCap >= threshold && bumped.feeCap > capLimit) {
    throw new FeeLimitError(
      `bumped fee cap ${bumped.feeCap} is over ${multiplier}x multiple of the suggested value ${feeCapOf(suggestion)}`,
    )
  }
  const blobSuggested = blobFeeCapOf(suggestion)
  const { blobFeeCap = 0n } = bumped
  if (blobFeeCap >= threshold && blobFeeCap > multiplier * blobSuggested) {
    throw new FeeLimitError(
      `bumped blob fee ${blobFeeCap} is over ${multiplier}x multiple of the suggested value ${blobSuggested}: blob fee limit reached`,
    )
  }
}

/** A fee is above what the operator allows. */
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
/** EIP-7976: a zero byte costs as much as any other. */
const GLAMSTERDAM_FLOOR_GAS_PER_BYTE = 64n

/** Gas of a transfer with this calldata from Prague on: the EIP-7623 floor, which is never below the price before it. */
export function pragueCalldataGas(data: Uint8Array): bigint {
  const zeros = countZeros(data)
  return TX_BASE_GAS + FLOOR_GAS_PER_TOKEN * BigInt(zeros + 4 * (data.length - zeros))
}

/** Gas limit of a transfer with this calldata that L1 takes both before and after Glamsterdam. */
export function calldataGas(data: Uint8Array): bigint {
  const glamsterdam = GLAMSTERDAM_TX_BASE_GAS + GLAMSTERDAM_FLOOR_GAS_PER_BYTE * BigInt(data.length)
  return larger(pragueCalldataGas(data), glamsterdam)
}

/** Gas that L1 charges now: for each transaction, and for each byte of calldata that is not zero, as compressed data are. */
export function gasPricesOf({ isGlamsterdam = false }: Pick<FeeSuggestion, 'isGlamsterdam'>): {
  perTx: bigint
  perByte: bigint
} {
  return isGlamsterdam
    ? { perTx: GLAMSTERDAM_TX_BASE_GAS, perByte: GLAMSTERDAM_FLOOR_GAS_PER_BYTE }
    : { perTx: TX_BASE_GAS, perByte: 4n * FLOOR_GAS_PER_TOKEN }
}

/** Math.max for bigint. */
export function larger(a: bigint, b: bigint): bigint {
  if (a > b) return a
  return b
}
