import { UsageError } from '../../lib/errors.ts'
import type { CompressionAlgorithmName } from '../channel/compress/algorithm.ts'
import type { CompressorKind } from '../channel/compress/channelCompressor.ts'
import { checkThrottleOptions, type ThrottleOptions } from '../throttle/controller.ts'
import { MAX_BLOBS_PER_TX } from '../txmgr/sidecar.ts'

/** Where data is posted. `auto` picks the cheaper. */
export const DATA_AVAILABILITY_TYPES = ['calldata', 'blobs', 'auto'] as const
export type DataAvailabilityType = (typeof DATA_AVAILABILITY_TYPES)[number]

/** The operator's settings. `ChannelConfig` holds the channel settings derived from them and the chain. */
export interface BatcherOptions {
  /** Default 6 s. */
  pollIntervalMs: number
  /** Most unconfirmed transactions; 0 = unlimited. The transactions of one channel may exceed it. Default 1. */
  maxPendingTx: number
  /** L1 blocks until a transaction counts as confirmed. Default 10. */
  numConfirmations: number
  /** L1 blocks that a channel stays open; 0 = until it is full. Default 0. */
  maxChannelDuration: number
  /** L1 blocks kept in reserve before the channel timeout and the end of the sequencing window. Default 10. */
  subSafetyMargin: number
  /** Default calldata. */
  dataAvailability: DataAvailabilityType
  /** Calldata bytes of one L1 transaction. Default 120,000. */
  maxL1TxSizeBytes: number
  /** 0 = no limit. Default 0. */
  maxBlocksPerSpanBatch: number
  /** Target number of frames of a channel. Default 1. */
  targetNumFrames: number
  /** Used by the `ratio` compressor. Default 0.6. */
  approxComprRatio: number
  /** Default shadow. */
  compressor: CompressorKind
  /** Default zlib. */
  compressionAlgorithm: CompressionAlgorithmName
  /** Default singular. */
  batchType: 'singular' | 'span'
  /** Timeout of each request. Default 10 s. */
  networkTimeoutMs: number
  /** Wait for the rollup node to reach the L1 head before the first block is loaded. Default false. */
  waitNodeSync: boolean
  /**
   * L1 blocks searched for our last transaction, which the node must have derived. 0 with `waitNodeSync`: the node must
   * have reached the L1 head. 0 without it: the maximum. Default 0.
   */
  checkRecentTxsDepth: number
  throttle: ThrottleOptions
  /** At the start: how long to wait for transactions of an earlier run in the L1's pool. Default 48 s. */
  poolTimeoutMs: number
}

/** geth's pool accepts at most 128 kB (`txMaxSize`). The fields beside the calldata take up to 272 bytes. */
const MAX_L1_TX_SIZE_BYTES = 131_072 - 272

/** op-batcher's limit of `--check-recent-txs-depth`, in L1 blocks. */
export const MAX_CHECK_RECENT_TXS_DEPTH = 128

/** The number of a frame is a uint16 (specs: derivation, "Frame format"). */
const MAX_FRAMES_PER_CHANNEL = 0x1_0000

/** Throws UsageError, with op-batcher's messages where it has one. */
export function checkBatcherOptions(options: BatcherOptions): void {
  checkThrottleOptions(options.throttle)
  if (options.pollIntervalMs === 0) throw new UsageError('must set PollInterval (--poll-interval)')
  if (options.maxL1TxSizeBytes <= 1) throw new UsageError('MaxL1TxSize must be greater than 1 (--max-l1-tx-size-bytes)')
  if (options.dataAvailability !== 'blobs' && options.maxL1TxSizeBytes > MAX_L1_TX_SIZE_BYTES) {
    throw new UsageError(
      `--max-l1-tx-size-bytes must be at most ${MAX_L1_TX_SIZE_BYTES}, have ${options.maxL1TxSizeBytes}: geth's pool accepts transactions of at most 128 kB`,
    )
  }
  if (options.targetNumFrames < 1) throw new UsageError('TargetNumFrames must be at least 1 (--target-num-frames)')
  if (options.targetNumFrames > MAX_FRAMES_PER_CHANNEL) {
    throw new UsageError(
      `--target-num-frames must be at most ${MAX_FRAMES_PER_CHANNEL}, have ${options.targetNumFrames}: the number of a frame has 16 bits`,
    )
  }
  if (options.dataAvailability !== 'calldata' && options.targetNumFrames > MAX_BLOBS_PER_TX) {
    throw new UsageError(
      `too many frames for blob transactions, max ${MAX_BLOBS_PER_TX}: ${options.targetNumFrames} (--target-num-frames)`,
    )
  }
  if (options.compressor === 'ratio' && !(options.approxComprRatio > 0 && options.approxComprRatio <= 1)) {
    throw new UsageError(
      `invalid ApproxComprRatio ${options.approxComprRatio} for ratio compressor (--approx-compr-ratio)`,
    )
  }
  if (options.checkRecentTxsDepth > MAX_CHECK_RECENT_TXS_DEPTH) {
    throw new UsageError(
      `CheckRecentTxsDepth cannot be set higher than ${MAX_CHECK_RECENT_TXS_DEPTH}: ${options.checkRecentTxsDepth} (--check-recent-txs-depth)`,
    )
  }
}
