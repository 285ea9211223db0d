import {
  type BatcherOptions,
  checkBatcherOptions,
  checkTxManagerOptions,
  DEFAULT_MIN_BLOB_FEE_WEI,
  type ThrottleOptions,
  type TxManagerOptions,
} from '../../batcher/index.ts'
import { UsageError } from '../../lib/errors.ts'
import { parseList } from '../shared/flags.ts'
import type { BatchSubmitterValues } from './batchSubmitterFlags.ts'

/** The endpoints, checked as op-batcher does. Rollup nodes and execution clients are paired by their order. */
export interface BatchSubmitterEndpoints {
  l1: string[]
  l2: string[]
  rollup: string[]
  /** Execution clients that are throttled besides `l2`. */
  builders: string[]
}

/** Throws UsageError. */
export function endpointsOf(values: BatchSubmitterValues): BatchSubmitterEndpoints {
  const listOf = (name: string, text: string, empty: string): string[] => {
    const urls = parseList(text)
    if (urls.length === 0) throw new UsageError(`${empty} (--${name})`)
    for (const url of urls) checkUrl(name, url)
    return urls
  }
  for (const url of values.throttleAdditionalEndpoints) checkUrl('throttle.additional-endpoints', url)
  const endpoints = {
    l1: listOf('l1-eth-rpc', values.l1EthRpc, 'empty L1 RPC URL'),
    l2: listOf('l2-eth-rpc', values.l2EthRpc, 'empty L2 RPC URL'),
    rollup: listOf('rollup-rpc', values.rollupRpc, 'empty rollup RPC URL'),
    builders: values.throttleAdditionalEndpoints,
  }
  if (endpoints.l2.length !== endpoints.rollup.length) {
    throw new UsageError(
      `number of rollup and eth URLs must match, have ${endpoints.rollup.length} and ${endpoints.l2.length} (--rollup-rpc, --l2-eth-rpc)`,
    )
  }
  return endpoints
}

function checkUrl(name: string, url: string): void {
  const protocol = URL.parse(url)?.protocol
  if (protocol === undefined)
    throw new UsageError(`--${name} is not a URL. Expected an address such as http://127.0.0.1:8545`)
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new UsageError(`--${name}: expected an http or https address, got ${protocol}//…`)
}

/** Throws UsageError. */
export function batcherOptionsOf(values: BatchSubmitterValues): BatcherOptions {
  if (values.batchType > 1) throw new UsageError(`unknown batch type: ${values.batchType} (--batch-type takes 0 or 1)`)
  const options: BatcherOptions = {
    pollIntervalMs: values.pollInterval,
    maxPendingTx: values.maxPendingTx,
    numConfirmations: values.numConfirmations,
    maxChannelDuration: values.maxChannelDuration,
    subSafetyMargin: values.subSafetyMargin,
    dataAvailability: values.dataAvailabilityType,
    maxL1TxSizeBytes: values.maxL1TxSizeBytes,
    maxBlocksPerSpanBatch: values.maxBlocksPerSpanBatch,
    targetNumFrames: values.targetNumFrames,
    approxComprRatio: values.approxComprRatio,
    compressor: values.compressor,
    compressionAlgorithm: values.compressionAlgo,
    batchType: values.batchType === 1 ? 'span' : 'singular',
    networkTimeoutMs: values.networkTimeout,
    waitNodeSync: values.waitNodeSync,
    checkRecentTxsDepth: values.checkRecentTxsDepth,
    poolTimeoutMs: values.resubmissionTimeout,
    throttle: throttleOptionsOf(values),
  }
  checkBatcherOptions(options)
  return options
}

function throttleOptionsOf(values: BatchSubmitterValues): ThrottleOptions {
  return {
    type: values.throttleControllerType,
    lowerThreshold: values.throttleUnsafeDaBytesLowerThreshold,
    upperThreshold: values.throttleUnsafeDaBytesUpperThreshold,
    txSizeLowerLimit: values.throttleTxSizeLowerLimit,
    txSizeUpperLimit: values.throttleTxSizeUpperLimit,
    blockSizeLowerLimit: values.throttleBlockSizeLowerLimit,
    blockSizeUpperLimit: values.throttleBlockSizeUpperLimit,
    pid: {
      kp: values.throttlePidKp,
      ki: values.throttlePidKi,
      kd: values.throttlePidKd,
      integralMax: values.throttlePidIntegralMax,
      outputMax: values.throttlePidOutputMax,
      sampleTimeMs: values.throttlePidSampleTime,
    },
  }
}

/** Throws UsageError. */
export function txManagerOptionsOf(values: BatchSubmitterValues): TxManagerOptions {
  const options: TxManagerOptions = {
    numConfirmations: values.numConfirmations,
    safeAbortNonceTooLowCount: values.safeAbortNonceTooLowCount,
    resubmissionTimeoutMs: values.resubmissionTimeout,
    networkTimeoutMs: values.networkTimeout,
    feeLimitMultiplier: BigInt(values.feeLimitMultiplier),
    feeLimitThresholdWei: gweiToWei(values.txmgrFeeLimitThreshold, 'txmgr.fee-limit-threshold'),
    minBaseFeeWei: gweiToWei(values.txmgrMinBasefee, 'txmgr.min-basefee'),
    minTipCapWei: gweiToWei(values.txmgrMinTipCap, 'txmgr.min-tip-cap'),
    minBlobFeeWei: DEFAULT_MIN_BLOB_FEE_WEI,
    blobTipCapDynamic: values.txmgrBlobTipCapDynamic,
    blobTipCapPercentile: values.txmgrBlobTipCapPercentile,
    blobTipCapRange: values.txmgrBlobTipCapRange,
    maxBaseFeeWei: gweiToWei(values.txmgrMaxBasefee, 'txmgr.max-basefee'),
    maxTipCapWei: gweiToWei(values.txmgrMaxTipCap, 'txmgr.max-tip-cap'),
    sendTimeoutMs: values.txmgrSendTimeout,
    notInMempoolTimeoutMs: values.txmgrNotInMempoolTimeout,
    receiptQueryIntervalMs: values.txmgrReceiptQueryInterval,
    rebroadcastIntervalMs: values.txmgrRebroadcastInterval,
    retryIntervalMs: values.txmgrRetryInterval,
    maxRetries: values.txmgrMaxRetries,
    cellProofTime: values.txmgrCellProofTime,
    alreadyPublishedErrors: values.txmgrAlreadyPublishedCustomErrs,
  }
  checkTxManagerOptions(options)
  return options
}

function gweiToWei(gwei: number, name: string): bigint {
  const wei = Math.round(gwei * 1e9)
  if (!Number.isSafeInteger(wei) || wei < 0)
    throw new UsageError(`--${name}: expected gwei, at least 0 and below nine million`)
  return BigInt(wei)
}
