import { UsageError } from '../../lib/errors.ts'

/** Settings of the transaction manager. Fees in wei per gas, times in milliseconds. */
export interface TxManagerOptions {
  /** Blocks until a transaction counts as confirmed, its own block included. Default 10. */
  numConfirmations: number
  /** "nonce too low" answers until a send is aborted. Default 3. */
  safeAbortNonceTooLowCount: number
  /** Time after which an unmined transaction is replaced with higher fees. Default 48 s. */
  resubmissionTimeoutMs: number
  /** Timeout of each L1 request. Default 10 s. */
  networkTimeoutMs: number
  /** Bumped fees stay below this multiple of the L1's suggestion. Default 5. */
  feeLimitMultiplier: bigint
  /** Fees below this are never limited. Default 100 gwei. */
  feeLimitThresholdWei: bigint
  /** Default 1 gwei. */
  minBaseFeeWei: bigint
  /** Default 1 gwei. */
  minTipCapWei: bigint
  /** Lowest blob fee cap. Default 1 gwei. */
  minBlobFeeWei: bigint
  /** The tip of blob transactions follows those of recent L1 blocks, even below `minTipCapWei`. Default false. */
  blobTipCapDynamic: boolean
  /** Percentile of the recent tips. Default 60. */
  blobTipCapPercentile: number
  /** Recent L1 blocks whose tips are read. Default 20. */
  blobTipCapRange: number
  /** Sending waits while the L1's base fee is above this. 0 = no limit. */
  maxBaseFeeWei: bigint
  /** Sending waits while the L1's tip is above this. 0 = no limit. */
  maxTipCapWei: bigint
  /** Time limit of a whole send. 0 = none, which keeps the order of batches. Default 0. */
  sendTimeoutMs: number
  /** Time within which the L1 must accept a transaction. Default 2 min. */
  notInMempoolTimeoutMs: number
  /** Receipts are requested at each new L1 head, and after this time without a new head. Default 12 s. */
  receiptQueryIntervalMs: number
  /** Time after which an unmined transaction is sent again unchanged. Default 12 s. */
  rebroadcastIntervalMs: number
  /** Pause between attempts to create a transaction. Default 1 s. */
  retryIntervalMs: number
  /** Default 10. */
  maxRetries: number
  /**
   * Unix seconds of the L1's Osaka fork, from which on blobs need cell proofs. Undefined: from the L1's chain ID if it
   * is known, else never.
   */
  cellProofTime?: number | undefined
  /** Further substrings of errors that mean "the L1 already has this transaction". */
  alreadyPublishedErrors: readonly string[]
}

/** Limit of the L1 blocks in one request, which contains their transactions. */
const MAX_BLOB_TIP_CAP_RANGE = 100

/** Throws UsageError with op-batcher's messages. */
export function checkTxManagerOptions(options: TxManagerOptions): void {
  if (options.numConfirmations === 0) throw new UsageError('NumConfirmations must not be 0 (--num-confirmations)')
  if (options.networkTimeoutMs === 0) throw new UsageError('must provide NetworkTimeout (--network-timeout)')
  if (options.feeLimitMultiplier === 0n)
    throw new UsageError('must provide FeeLimitMultiplier (--fee-limit-multiplier)')
  if (options.minBaseFeeWei < options.minTipCapWei) {
    throw new UsageError(
      `minBaseFee smaller than minTipCap, have ${options.minBaseFeeWei} < ${options.minTipCapWei} (--txmgr.min-basefee, --txmgr.min-tip-cap)`,
    )
  }
  if (options.maxBaseFeeWei !== 0n && options.maxBaseFeeWei < options.minBaseFeeWei)
    throw new UsageError('--txmgr.max-basefee is smaller than --txmgr.min-basefee')
  if (options.maxTipCapWei !== 0n && options.maxTipCapWei < options.minTipCapWei)
    throw new UsageError('--txmgr.max-tip-cap is smaller than --txmgr.min-tip-cap')
  if (options.resubmissionTimeoutMs === 0)
    throw new UsageError('must provide ResubmissionTimeout (--resubmission-timeout)')
  if (options.receiptQueryIntervalMs === 0)
    throw new UsageError('must provide ReceiptQueryInterval (--txmgr.receipt-query-interval)')
  if (options.notInMempoolTimeoutMs === 0)
    throw new UsageError('must provide TxNotInMempoolTimeout (--txmgr.not-in-mempool-timeout)')
  if (options.safeAbortNonceTooLowCount === 0)
    throw new UsageError('SafeAbortNonceTooLowCount must not be 0 (--safe-abort-nonce-too-low-count)')
  if (options.rebroadcastIntervalMs === 0)
    throw new UsageError('must provide RebroadcastInterval (--txmgr.rebroadcast-interval)')
  const { blobTipCapPercentile: percentile, blobTipCapRange: range } = options
  if (percentile < 1 || percentile > 100) {
    throw new UsageError(
      `BlobTipCapPercentile must be between 1 and 100, got ${percentile} (--txmgr.blob-tip-cap-percentile)`,
    )
  }
  if (range < 1 || range > MAX_BLOB_TIP_CAP_RANGE) {
    throw new UsageError(
      `BlobTipCapRange must be at least 1 and at most ${MAX_BLOB_TIP_CAP_RANGE}, got ${range} (--txmgr.blob-tip-cap-range)`,
    )
  }
  if (options.maxRetries === 0) throw new UsageError('must provide MaxRetries (--txmgr.max-retries)')
}
