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

/** How channels of one chain are built. Spans of blocks are L1 blocks. */
export interface ChannelConfig {
  batchType: 'singular' | 'span'
  kind: CompressorKind
  algorithm: CompressionAlgorithm
  algorithmName: CompressionAlgorithmName
  targetOutputBytes: number
  approxComprRatio: number
  maxBlocksPerSpanBatch: number
  /** Frame with its 23 bytes of header. */
  maxFrameBytes: number
  /** Frames leave in blobs, one in each. */
  useBlobs: boolean
  targetNumFrames: number
  /** After its first frame is on L1, a channel must be complete within this. */
  channelTimeout: number
  seqWindowSize: number
  maxChannelDuration: number
  subSafetyMargin: number
  /** L1 blocks until a transaction counts, its own included. */
  numConfirmations: number
  /** Transactions of one channel that may wait for confirmation together; Infinity = any number. */
  txsInFlight: number
}

/**
 * Transactions of one channel that go together, whatever `maxPendingTx` says: one at a time, a channel of some frames
 * would time out before its last one is sent. As many as geth's pools keep of one account in any case (`AccountSlots`).
 */
const MIN_TXS_IN_FLIGHT = 16

/** Frames that can be on L1 before a channel times out, when each group of them waits for its confirmations. */
export function framesInTime(
  config: Pick<ChannelConfig, 'channelTimeout' | 'numConfirmations' | 'txsInFlight' | 'useBlobs'>,
): number {
  const groups = 1 + Math.floor((config.channelTimeout - 1) / (config.numConfirmations + 1))
  return groups * config.txsInFlight * (config.useBlobs ? MAX_BLOBS_PER_TX : 1)
}

/** Settings that follow from the operator's options and the chain. Throws UsageError where they contradict. */
export function createChannelConfig(
  options: BatcherOptions,
  rollupConfig: RollupConfig,
  nowSeconds: number,
  { useBlobs }: { useBlobs: boolean } = { useBlobs: options.dataAvailability !== 'calldata' },
): ChannelConfig {
  if (useBlobs && !isForkActive(rollupConfig, 'ecotone', nowSeconds))
    throw new UsageError('cannot use Blobs before Ecotone (--data-availability-type)')
  // One byte is the derivation version. Frames beyond the derivation's own limit would be refused.
  const maxFrameBytes = Math.min(
    (useBlobs ? MAX_BLOB_DATA_BYTES : options.maxL1TxSizeBytes) - 1,
    MAX_FRAME_DATA_BYTES + FRAME_ENCODING_OVERHEAD_BYTES,
  )
  if (maxFrameBytes <= FRAME_ENCODING_OVERHEAD_BYTES) {
    throw new UsageError(
      `--max-l1-tx-size-bytes ${options.maxL1TxSizeBytes} leaves no room for data beside a frame's ${FRAME_ENCODING_OVERHEAD_BYTES} bytes`,
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
      `--target-num-frames ${options.targetNumFrames} cannot be on L1 before a channel times out: with --num-confirmations ${options.numConfirmations} and ${txsInFlight} transactions at a time at most ${possible} frames can within ${sending.channelTimeout} L1 blocks (channel timeout ${timeout} less --sub-safety-margin ${options.subSafetyMargin})`,
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

/** A channel may begin before Granite and end after it, so its shorter timeout is used as soon as Granite is scheduled. */
function safeChannelTimeout(config: RollupConfig, nowSeconds: number): number {
  return Math.min(channelTimeout(config, nowSeconds), channelTimeout(config, Number.MAX_SAFE_INTEGER))
}
