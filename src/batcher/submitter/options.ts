import { UsageError } from '../../lib/errors.ts'
import type { CompressionAlgorithmName } from '../channel/compress/algorithm.ts'
import type { CompressorKind } from '../channel/compress/channelCompressor.ts'
import { checkThrottleOptions, type ThrottleOptions } from '../throttle/controller.ts'
import { MAX_BLOBS_PER_TX } from '../txmgr/sidecar.ts'

/** Where data are posted: `auto` takes what costs less. */
export const DATA_AVAILABILITY_TYPES = ['calldata', 'blobs', 'auto'] as const
export type DataAvailabilityType = (typeof DATA_AVAILABILITY_TYPES)[number]

/** What an operator sets; the channel settings that follow from it and the chain are `ChannelConfig`. */
export interface BatcherOptions {
  /** Default 6 s. */
  pollIntervalMs: number
  /**
   * Transactions that wait for confirmation at a time; 0 = unlimited. Those of one channel go together all the same.
   * Default 1.
   */
  maxPendingTx: number
  /** L1 blocks until a transaction counts. Default 10. */
  numConfirmations: number
  /** L1 blocks that a channel stays open; 0 = until it is full. Default 0. */
  maxChannelDuration: number
  /** L1 blocks kept as reserve before the channel timeout and the end of the sequencing window. Default 10. */
  subSafetyMargin: number
  /** Default calldata. */
  dataAvailability: DataAvailabilityType
  /** Bytes of the calldata of one L1 transaction. Default 120,000. */
  maxL1TxSizeBytes: number
  /** 0 = no limit. Default 0. */
  maxBlocksPerSpanBatch: number
  /** Frames that a channel aims at. Default 1. */
  targetNumFrames: number
  /** Used by the `ratio` compressor. Default 0.6. */
  approxComprRatio: number
  /** Default shadow. */
  compressor: CompressorKind
  /** Default zlib. */
  compressionAlgorithm: CompressionAlgorithmName
  /** Default singular. */
  batchType: 'singular' | 'span'
  /** Limit of each request. Default 10 s. */
  networkTimeoutMs: number
  /** Before the first block is loaded, the rollup node must have reached the L1 head. Default false. */
  waitNodeSync: boolean
  /**
   * L1 blocks that are searched for our last transaction, which the node must have derived. 0: with `waitNodeSync` it
   * must have reached the L1 head, else as many as can be. Default 0.
   */
  checkRecentTxsDepth: number
  throttle: ThrottleOptions
  /** How long transactions that the L1's pool holds from before are waited for at the start. Default 48 s. */
  poolTimeoutMs: number
}

/** 128 kB less what a transaction has beside its calldata; geth's pool takes no more (`txMaxSize`). */
const MAX_L1_TX_SIZE_BYTES = 131_072 - 272

/** L1 blocks: op-batcher's limit of `--check-recent-txs-depth`. */
export const MAX_CHECK_RECENT_TXS_DEPTH = 128

/** Throws UsageError, with op-batcher's texts where it has one. */
export function checkBatcherOptions(options: BatcherOptions): void {
  checkThrottleOptions(options.throttle)
  if (options.pollIntervalMs === 0) throw new UsageError('must set PollInterval (--poll-interval)')
  if (options.maxL1TxSizeBytes <= 1) throw new UsageError('MaxL1TxSize must be greater than 1 (--max-l1-tx-size-bytes)')
  if (options.dataAvailability !== 'blobs' && options.maxL1TxSizeBytes > MAX_L1_TX_SIZE_BYTES) {
    throw new UsageError(
      `--max-l1-tx-size-bytes ${options.maxL1TxSizeBytes} is more than L1 nodes take: a transaction in geth's pool has at most 128 kB, which leaves ${MAX_L1_TX_SIZE_BYTES} for calldata`,
    )
  }
  if (options.targetNumFrames < 1) throw new UsageError('TargetNumFrames must be at least 1 (--target-num-frames)')
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
