import { expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { TEST_TX_OPTIONS } from '../testUtils/submitterSetup.ts'
import { checkTxManagerOptions, type TxManagerOptions } from './options.ts'

const check = (options: Partial<TxManagerOptions>) => checkTxManagerOptions({ ...TEST_TX_OPTIONS, ...options })

it.each<[Partial<TxManagerOptions>, string]>([
  [{ numConfirmations: 0 }, '--num-confirmations'],
  [{ networkTimeoutMs: 0 }, '--network-timeout'],
  [{ feeLimitMultiplier: 0n }, '--fee-limit-multiplier'],
  [{ minBaseFeeWei: 9n, minTipCapWei: 10n }, '--txmgr.min-basefee'],
  [{ minBaseFeeWei: 10n, minTipCapWei: 1n, maxBaseFeeWei: 9n }, '--txmgr.max-basefee'],
  [{ minBaseFeeWei: 10n, minTipCapWei: 10n, maxTipCapWei: 9n }, '--txmgr.max-tip-cap'],
  [{ resubmissionTimeoutMs: 0 }, '--resubmission-timeout'],
  [{ receiptQueryIntervalMs: 0 }, '--txmgr.receipt-query-interval'],
  [{ notInMempoolTimeoutMs: 0 }, '--txmgr.not-in-mempool-timeout'],
  [{ safeAbortNonceTooLowCount: 0 }, '--safe-abort-nonce-too-low-count'],
  [{ rebroadcastIntervalMs: 0 }, '--txmgr.rebroadcast-interval'],
  [{ blobTipCapPercentile: 0 }, '--txmgr.blob-tip-cap-percentile'],
  [{ blobTipCapPercentile: 101 }, '--txmgr.blob-tip-cap-percentile'],
  [{ blobTipCapRange: 0 }, '--txmgr.blob-tip-cap-range'],
  [{ blobTipCapRange: 101 }, '--txmgr.blob-tip-cap-range'],
  [{ maxRetries: 0 }, '--txmgr.max-retries'],
])('refuses %o and names %s', (options, flag) => {
  expect(() => check(options)).toThrow(errorWith('usage', flag))
})

it.each<Partial<TxManagerOptions>>([
  { minBaseFeeWei: 10n, minTipCapWei: 10n },
  { minBaseFeeWei: 10n, minTipCapWei: 10n, maxBaseFeeWei: 10n, maxTipCapWei: 10n },
  { blobTipCapPercentile: 1, blobTipCapRange: 1 },
  { blobTipCapPercentile: 100, blobTipCapRange: 100 },
])('accepts its limits: %o', (options) => {
  expect(() => check(options)).not.toThrow()
})
