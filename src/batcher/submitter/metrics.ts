import type { Gauge, Registry } from 'prom-client'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import { MAX_BLOB_DATA_BYTES } from '../../rollup/protocol/index.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import {
  type PidTerms,
  THROTTLE_CONTROLLERS,
  type ThrottleControllerType,
  type ThrottleLimits,
} from '../throttle/controller.ts'

export type ChannelStage = 'opened' | 'closed' | 'fully_submitted' | 'timed_out'

/** The channel manager, as far as its figures are shown. */
export interface HeldData {
  readonly pendingBlockCount: number
  readonly heldSizeBytes: number
  readonly pendingDaBytes: number
  readonly unsafeDaBytes: number
  readonly channels: readonly unknown[]
}

interface BlockTime {
  number: number
  timestamp: number
}

export type BatcherMetrics = ReturnType<typeof createBatcherMetrics>

const PREFIX = 'op_batcher_default_'

/** op-batcher's buckets: 0.1, 0.2, then 0.30 to 0.95. */
const RATIO_BUCKETS = [0.1, 0.2, ...Array.from({ length: 14 }, (_, index) => (30 + 5 * index) / 100)]

/** op-batcher's buckets: 14 from 0 to a full blob. */
const BLOB_BUCKETS = Array.from({ length: 14 }, (_, index) => index * Math.floor(MAX_BLOB_DATA_BYTES / 13))

/** Metrics under op-batcher's names. */
export function createBatcherMetrics(registry: Registry, now: () => number = Date.now) {
  const { gauge, counter, histogram, watched, watchedByLabel } = createMetricMakers(registry, PREFIX)

  const info = gauge('info', 'Version of the program', ['version'])
  const up = gauge('up', '1 while batches are submitted')
  const refNumber = gauge('refs_number', 'Block numbers', ['layer', 'type'])
  const refTime = gauge('refs_time', 'Block times', ['layer', 'type'])
  const refLatency = gauge('refs_latency', 'Age of blocks in seconds', ['layer', 'type'])
  const channels = gauge('channel_total', 'Channels by stage', ['stage'])
  const lastChannel = gauge('last_channel_unix', 'Time of the last channel event', ['stage'])
  const txs = gauge('batcher_tx_total', 'Batch transactions by stage', ['stage'])
  const lastTx = gauge('last_batcher_tx_unix', 'Time of the last batch transaction event', ['stage'])
  const blocksAdded = gauge('blocks_added_count', 'Blocks loaded from the L2 node')
  const inputBytes = gauge('input_bytes', 'RLP bytes of the last channel', ['stage'])
  const outputBytes = gauge('output_bytes', 'Compressed bytes of the last channel')
  const numFrames = gauge('channel_num_frames', 'Frames of the last channel')
  const pendingBytesTotal = counter('pending_blocks_bytes_total', 'Uncompressed bytes of all loaded blocks')
  const inputTotal = counter('input_bytes_total', 'RLP bytes of all channels')
  const outputTotal = counter('output_bytes_total', 'Compressed bytes of all channels')
  const throttleIntensity = gauge('throttle_intensity', 'Intensity of throttling, 0 to 1', ['type'])
  const throttleType = gauge('throttle_controller_type', '1 for the controller in use', ['type'])
  const unsafeRatio = gauge('unsafe_bytes_ratio', 'Unsafe bytes divided by the lower threshold', ['type'])
  const throttleTx = gauge('throttle_max_tx_size', 'Most bytes on L1 of a transaction; 0 = no limit')
  const throttleBlock = gauge('throttle_max_block_size', 'Most bytes on L1 of an L2 block; 0 = no limit')
  const pidError = gauge('pid_controller_error', 'Excess of the load over the lower threshold, in thresholds')
  const pidIntegral = gauge('pid_controller_integral', 'Sum of the error of the pid controller over the seconds')
  const pidDerivative = gauge('pid_controller_derivative', 'Change of the error of the pid controller in a second')
  const ratio = histogram('channel_compr_ratio', 'Compression ratio of channels', { buckets: RATIO_BUCKETS })
  const blobUsed = histogram('blob_used_bytes', 'Bytes used in the last blob of each transaction', {
    buckets: BLOB_BUCKETS,
  })
  let held: HeldData | undefined
  let balance: Gauge | undefined
  watchedByLabel('gauge', 'pending_blocks_count', 'Blocks in no channel', 'stage', () =>
    held === undefined ? {} : { added: held.pendingBlockCount },
  )
  watched('pending_blocks_bytes_current', 'Uncompressed bytes of all held blocks', () => held?.heldSizeBytes ?? 0)
  watched('pending_da_bytes', 'Estimated bytes on L1 of blocks in no channel', () => held?.pendingDaBytes ?? 0)
  watched('unsafe_da_bytes', 'Estimated bytes on L1 of unsafe blocks', () => held?.unsafeDaBytes ?? 0)
  watched('channel_queue_length', 'Channels with unsafe blocks', () => held?.channels.length ?? 0)
  const ref = (layer: string, type: string, { number, timestamp }: BlockTime) => {
    refNumber.set({ layer, type }, number)
    refTime.set({ layer, type }, timestamp)
    refLatency.set({ layer, type }, now() / 1000 - timestamp)
  }
  const txEvent = (stage: string) => {
    txs.inc({ stage })
    lastTx.set({ stage }, now() / 1000)
  }

  return {
    info: (version: string) => info.set({ version }, 1),
    up: (running: boolean) => up.set(running ? 1 : 0),
    l1Head: (block: BlockTime) => ref('l1', 'latest', block),
    l2Loaded: (block: BlockTime) => ref('l2', 'loaded', block),
    blockAdded(block: BatcherBlock) {
      blocksAdded.inc()
      pendingBytesTotal.inc(block.rawSizeBytes)
      ref('l2', 'added', block)
    },
    channel(stage: ChannelStage) {
      channels.inc({ stage })
      lastChannel.set({ stage }, now() / 1000)
    },
    channelClosed(frames: number, input: number, output: number) {
      numFrames.set(frames)
      inputBytes.set({ stage: 'closed' }, input)
      outputBytes.set(output)
      inputTotal.inc(input)
      outputTotal.inc(output)
      if (input > 0) ratio.observe(output / input)
    },
    /** `lastBlobBytes`: bytes used in the transaction's last blob. */
    txSubmitted(lastBlobBytes: number | undefined) {
      txEvent('submitted')
      if (lastBlobBytes !== undefined) blobUsed.observe(lastBlobBytes)
    },
    txConfirmed: () => txEvent('success'),
    txFailed: () => txEvent('failed'),
    /** `data` is read at each scrape. */
    watchHeld(data: HeldData) {
      held = data
    },
    /** `load`: bytes waiting for L1, divided by the lower threshold. */
    throttle(type: ThrottleControllerType, limits: ThrottleLimits, load: number, pid: PidTerms) {
      for (const other of THROTTLE_CONTROLLERS) {
        const isInUse = other === type
        throttleType.set({ type: other }, isInUse ? 1 : 0)
        throttleIntensity.set({ type: other }, isInUse ? limits.intensity : 0)
        unsafeRatio.set({ type: other }, isInUse ? load : 0)
      }
      throttleTx.set(limits.maxTxBytes)
      throttleBlock.set(limits.maxBlockBytes)
      pidError.set(pid.error)
      pidIntegral.set(pid.integral)
      pidDerivative.set(pid.derivative)
    },
    /** In ether. Not shown before the first call. */
    balance(ether: number) {
      balance ??= gauge('balance', 'Balance of the batch sender in ether')
      balance.set(ether)
    },
  }
}
