import { UsageError } from '../../lib/errors.ts'
import {
  channelTimeout,
  FRAME_ENCODING_OVERHEAD_BYTES,
  isForkActive,
  MAX_BLOB_DATA_BYTES,
  MAX_FRAME_DATA_BYTES,
} from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import type { BatcherOptions } from '../submitter/options.ts'
import { MAX_BLOBS_PER_TX } from '../txmgr/sidecar.ts'
import { type CompressionAlgorithm, type CompressionAlgorithmName, compressionAlgorithm } from './compress/algorithm.ts'
import type { CompressorKind } from './compress/channelCompressor.ts'

/** How channels of one chain are built. Durations are in L1 blocks. */
export interface ChannelConfig {
  batchType: 'singular' | 'span'
  kind: CompressorKind
  algorithm: CompressionAlgorithm
  algorithmName: CompressionAlgorithmName
  targetOutputBytes: number
  approxComprRatio: number
  maxBlocksPerSpanBatch: number
  /** Includes the frame's header of 23 bytes. */
  maxFrameBytes: number
  /** Frames are sent in blobs, one frame in each blob. */
  useBlobs: boolean
  targetNumFrames: number
  /** A channel must be complete within this time after its first frame. */
  channelTimeout: number
  seqWindowSize: number
  maxChannelDuration: number
  subSafetyMargin: number
  /** L1 blocks until a transaction counts as confirmed, its own block included. */
  numConfirmations: number
  /** Transactions of one channel that may be in flight together. Infinity = unlimited. */
  txsInFlight: number
}

/**
 * Transactions of one channel that may be in flight together, whatever `maxPendingTx` is. Sent one at a time, a channel
 * of several frames would time out before its last frame. geth's pool always keeps this many transactions of an account
 * (`AccountSlots`).
 */
const MIN_TXS_IN_FLIGHT = 16

/** Frames that can reach L1 before a channel times out, if each group of transactions waits for its confirmations. */
export function framesInTime(
  config: Pick<ChannelConfig, 'channelTimeout' | 'numConfirmations' | 'txsInFlight' | 'useBlobs'>,
): number {
  const groups = 1 + Math.floor((config.channelTimeout - 1) / (config.numConfirmations + 1))
  return groups * config.txsInFlight * (config.useBlobs ? MAX_BLOBS_PER_TX : 1)
}

/**
 * Derives the channel settings from the operator's options and the chain. Throws UsageError if they contradict each
 * other.
 */
export function createChannelConfig(
  options: BatcherOptions,
  rollupConfig: RollupConfig,
  nowSeconds: number,
  { useBlobs }: { useBlobs: boolean } = { useBlobs: options.dataAvailability !== 'calldata' },
): ChannelConfig {
  if (useBlobs && !isForkActive(rollupConfig, 'ecotone', nowSeconds))
    throw new UsageError('cannot use Blobs before Ecotone (--data-availability-type)')
  // One byte is the derivation version. Derivation drops frames above its own limit.
  const maxFrameBytes = Math.min(
    (useBlobs ? MAX_BLOB_DATA_BYTES : options.maxL1TxSizeBytes) - 1,
    MAX_FRAME_DATA_BYTES + FRAME_ENCODING_OVERHEAD_BYTES,
  )
  if (maxFrameBytes <= FRAME_ENCODING_OVERHEAD_BYTES) {
    throw new UsageError(
      `--max-l1-tx-size-bytes ${options.maxL1TxSizeBytes} is too small: a frame has ${FRAME_ENCODING_OVERHEAD_BYTES} bytes beside its data`,
    )
  }
  const algorithm = compressionAlgorithm(options.compressionAlgorithm)
  if (algorithm.kind === 'brotli' && !isForkActive(rollupConfig, 'fjord', nowSeconds))
    throw new UsageError('cannot use brotli compression before Fjord (--compression-algo)')
  if (options.batchType === 'span' && !isForkActive(rollupConfig, 'delta', nowSeconds))
    throw new UsageError('cannot use span batches before Delta (--batch-type)')
  const timeout = safeChannelTimeout(rollupConfig, nowSeconds)
  if (timeout < options.subSafetyMargin) {
    throw new UsageError(
      `channel timeout is less than the safety margin: ${timeout} < ${options.subSafetyMargin} (--sub-safety-margin)`,
    )
  }
  const txsInFlight =
    options.maxPendingTx === 0 ? Number.POSITIVE_INFINITY : Math.max(options.maxPendingTx, MIN_TXS_IN_FLIGHT)
  const sending = { channelTimeout: timeout - options.subSafetyMargin, txsInFlight, useBlobs }
  const possible = framesInTime({ ...sending, numConfirmations: options.numConfirmations })
  if (options.targetNumFrames > possible) {
    throw new UsageError(
      `--target-num-frames ${options.targetNumFrames} is too large: a channel would time out before its last frame is on L1. At most ${possible} frames fit into ${sending.channelTimeout} L1 blocks (channel timeout ${timeout} less --sub-safety-margin ${options.subSafetyMargin}), with --num-confirmations ${options.numConfirmations} and ${txsInFlight} transactions in flight`,
    )
  }
  return {
    batchType: options.batchType,
    kind: options.compressor,
    algorithm,
    algorithmName: options.compressionAlgorithm,
    targetOutputBytes: options.targetNumFrames * (maxFrameBytes - FRAME_ENCODING_OVERHEAD_BYTES),
    approxComprRatio: options.approxComprRatio,
    maxBlocksPerSpanBatch: options.maxBlocksPerSpanBatch,
    maxFrameBytes,
    useBlobs,
    targetNumFrames: options.targetNumFrames,
    channelTimeout: timeout,
    seqWindowSize: rollupConfig.seqWindowSize,
    maxChannelDuration: options.maxChannelDuration,
    subSafetyMargin: options.subSafetyMargin,
    numConfirmations: options.numConfirmations,
    txsInFlight,
  }
}

/**
 * A channel may begin before Granite and end after it. So Granite's shorter timeout is used as soon as Granite is
 * scheduled.
 */
function safeChannelTimeout(config: RollupConfig, nowSeconds: number): number {
  return Math.min(channelTimeout(config, nowSeconds), channelTimeout(config, Number.MAX_SAFE_INTEGER))
}
