import { randomBytes } from 'node:crypto'
import { toHex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import type { BlockId, RollupConfig } from '../../rollup/protocol/types.ts'
import { type BatcherBlock, memoryBytes } from '../l2/l2Block.ts'
import type { BatcherMetrics } from '../submitter/metrics.ts'
import { Channel, type TxCost } from './channel.ts'
import { type ChannelConfig, framesInTime } from './channelConfig.ts'
import { CHANNEL_FULL_REASONS, type ChannelOut } from './channelOut.ts'
import type { DaChoice } from './daChoice.ts'
import { SingularChannelOut } from './singularChannelOut.ts'
import { type ExpectedCompression, SpanChannelOut } from './spanChannelOut.ts'
import type { TxData } from './txData.ts'

export interface ChannelManagerModules {
  logger: Logger
  metrics: BatcherMetrics
  createOut?: typeof createChannelOut
}

export interface ChannelManagerOptions {
  da: DaChoice
  rollupConfig: RollupConfig
}

export interface FillOptions {
  deadlines: boolean
  /** Called when a channel closes and has data to send. */
  onReady?: () => void
  /** Ends `fill` after the present block. The next call continues from there. */
  signal?: AbortSignal
}

/** Closed channels of which nothing was sent. Building pauses at this number. */
const MAX_CHANNELS_AHEAD = 3

/**
 * Holds the unsafe L2 blocks and the channels built from them. Blocks stay until they are safe, channels until their
 * last block is safe. Only then is it certain that nothing must be sent again.
 *
 * Blocks are identified by number. Only `fill` is asynchronous, because it compresses. Other methods may remove
 * channels or blocks between its steps, so it checks after each step.
 */
export class ChannelManager {
  private readonly modules: ChannelManagerModules
  private readonly options: ChannelManagerOptions
  private readonly filling = createSemaphore(1)
  private readonly expected: ExpectedCompression = { ratio: 1, quickRatio: undefined }
  private held: BatcherBlock[] = []
  /** Number of the first block in no channel. */
  private nextNumber = 0
  private queue: Channel[] = []
  private readonly txChannels = new Map<string, Channel>()
  private durationFrom = 0
  private flushThrough: number | undefined
  /** The newest block that was ever added. It may be safe by now and not held any more. */
  lastLoaded: BlockId | undefined

  constructor(modules: ChannelManagerModules, options: ChannelManagerOptions) {
    this.modules = modules
    this.options = options
    modules.metrics.watchHeld(this)
  }

  /** `Publisher` refreshes its prices before each `fill`. */
  get da(): DaChoice {
    return this.options.da
  }

  /** Oldest first. Each block is the parent of the next. */
  get blocks(): readonly BatcherBlock[] {
    return this.held
  }

  get channels(): readonly Channel[] {
    return this.queue
  }

  get newestBlock(): BatcherBlock | undefined {
    return this.held.at(-1)
  }

  /** Uncompressed bytes of all held blocks. */
  get heldSizeBytes(): number {
    return this.held.reduce((sum, { rawSizeBytes }) => sum + rawSizeBytes, 0)
  }

  /** Memory of all held blocks. */
  get memoryBytes(): number {
    return this.held.reduce((sum, block) => sum + memoryBytes(block), 0)
  }

  /** Blocks in no channel. */
  get pendingBlockCount(): number {
    const newest = this.newestBlock
    return newest === undefined ? 0 : Math.max(0, newest.number + 1 - this.nextNumber)
  }

  /** Estimated bytes on L1 of the blocks in no channel. */
  get pendingDaBytes(): number {
    const { held, nextNumber } = this
    return held.reduce((sum, { number, estimatedDaBytes }) => (number < nextNumber ? sum : sum + estimatedDaBytes), 0)
  }

  /** Estimated bytes on L1 of all held blocks. Exact for channels that have frames. */
  get unsafeDaBytes(): number {
    return this.queue.reduce((sum, channel) => sum + channel.daBytes, this.pendingDaBytes)
  }

  /** The oldest block whose channel is not fully confirmed on L1. */
  get firstUnsaved(): BatcherBlock | undefined {
    const unsaved = this.queue.find((channel) => channel.blocks.length > 0 && !channel.isFullySubmitted)
    return unsaved === undefined ? this.blockAt(this.nextNumber) : unsaved.blocks[0]
  }

  /** The channel whose data is sent next. Its first transaction fixes whether it uses blobs or calldata. */
  next(): Channel | undefined {
    const { da } = this.options
    const channel = this.queue.find((candidate) => candidate.hasTxData)
    if (channel === undefined || da.isFixed || !channel.noneSubmitted) return channel
    // Only a closed channel has a size to choose by.
    if (!channel.isClosed) return undefined
    channel.repack(da.configFor(channel.outputBytes))
    return channel
  }

  /** Drops everything. Durations of new channels count from `l1Origin`, the L1 origin of the safe head. */
  clear(l1Origin: number): void {
    this.drop([...this.queue, ...this.txChannels.values()])
    this.held = []
    this.lastLoaded = undefined
    this.nextNumber = 0
    this.flushThrough = undefined
    this.durationFrom = l1Origin
  }

  /** Drops all channels. The held blocks go into new channels. */
  requeue(): void {
    this.drop(this.queue)
    this.moveNext(0)
  }

  /** False if the block does not extend the newest block: the chain was reorganised. */
  addBlock(block: BatcherBlock): boolean {
    const newest = this.newestBlock
    if (newest !== undefined && (newest.hash !== block.parentHash || newest.number + 1 !== block.number)) return false
    if (newest === undefined) this.nextNumber = block.number
    this.held.push(block)
    this.lastLoaded = { number: block.number, hash: block.hash }
    this.modules.metrics.blockAdded(block)
    return true
  }

  /** Drops the blocks up to the safe head, and the channels with only such blocks. */
  prune(safeNumber: number): void {
    this.moveNext(Math.max(this.nextNumber, safeNumber + 1))
    const kept = this.held.findIndex(({ number }) => number > safeNumber)
    this.held.splice(0, kept === -1 ? this.held.length : kept)
    const isSafe = ({ latestL2 }: Channel) => latestL2 !== undefined && latestL2.number <= safeNumber
    const unsafe = this.queue.findIndex((channel) => !isSafe(channel))
    // Transactions of these channels may still be unconfirmed. Their cost is reported when they are confirmed.
    this.leave(this.queue.slice(0, unsafe === -1 ? this.queue.length : unsafe))
  }

  /** Sends all held blocks as soon as possible, including those that an open channel would still wait with. */
  flush(): void {
    const newest = this.newestBlock
    if (newest !== undefined) this.flushThrough = newest.number
  }

  /**
   * Puts blocks into channels until none is left or enough closed channels wait to be sent. If `deadlines` is set,
   * closes channels whose deadline has passed. Throws a compressor's error: then the next call puts the blocks of that
   * channel into a new one.
   */
  fill(l1Head: number, options: FillOptions): Promise<void> {
    return this.filling.run(async () => {
      // A span channel may return blocks when it closes.
      while (!options.signal?.aborted && (await this.fillOnce(l1Head, options)));
    })
  }

  nextTxData(): TxData | undefined {
    const channel = this.next()
    if (channel === undefined) return undefined
    const data = channel.nextTxData()
    this.txChannels.set(data.id, channel)
    return data
  }

  txFailed(id: string): void {
    const channel = this.txChannels.get(id)
    this.txChannels.delete(id)
    this.modules.metrics.txFailed()
    channel?.txFailed(id)
  }

  txConfirmed(id: string, inclusionBlock: number, cost?: TxCost): void {
    const channel = this.txChannels.get(id)
    this.txChannels.delete(id)
    this.modules.metrics.txConfirmed()
    // The channel was dropped meanwhile. Its data may be on L1, which does no harm.
    if (channel === undefined) return
    channel.txConfirmed(id, inclusionBlock, cost)
    if (channel.isTimedOut && this.queue.includes(channel)) {
      this.modules.metrics.channel('timed_out')
      this.modules.logger.warn('Channel timed out', { id: channel.id, frames: channel.frameCount })
      this.invalidate(channel)
    } else if (channel.isFullySubmitted) {
      this.modules.metrics.channel('fully_submitted')
      this.modules.logger[channel.hasTransactions ? 'info' : 'debug']('Channel is fully submitted', {
        id: channel.id,
        frames: channel.frameCount,
        latest_l2: channel.latestL2?.number,
        input_bytes: channel.inputBytes,
        output_bytes: channel.outputBytes,
        compr_ratio: channel.comprRatio,
        cost_gwei: gwei(channel.costWei),
        saved_against_calldata_gwei: gwei(channel.calldataCostWei - channel.costWei),
      })
    }
  }

  /** Returns whether another round is needed. */
  private async fillOnce(l1Head: number, { deadlines, onReady, signal }: FillOptions): Promise<boolean> {
    while (this.channelsAhead < MAX_CHANNELS_AHEAD) {
      // A span channel only collects most blocks. Without yielding, it would take hundreds of them in one task of the
      // event loop.
      await yieldToLoop()
      if (signal?.aborted) return false
      const block = this.blockAt(this.nextNumber)
      if (block === undefined) break
      const channel = this.openChannel(l1Head)
      await this.working(channel, () => channel.addBlock(block))
      if (!this.queue.includes(channel)) continue
      this.moveNext(channel.nextL2Number ?? block.number)
      if (channel.isFull) await this.output(channel, onReady)
    }
    const channel = this.open
    const allIn = this.blockAt(this.nextNumber) === undefined
    if (channel !== undefined && channel.blocks.length > 0) {
      // Even if the deadline has passed, the channel takes all waiting blocks first.
      if (deadlines) channel.checkDeadline(l1Head)
      if (allIn && this.flushThrough !== undefined) channel.setFull('terminated')
      await this.output(channel, onReady)
    }
    if (this.flushThrough !== undefined && this.flushThrough < this.nextNumber && this.open === undefined)
      this.flushThrough = undefined
    return this.channelsAhead < MAX_CHANNELS_AHEAD && this.blockAt(this.nextNumber) !== undefined
  }

  /** Makes frames of the ready bytes, and closes the channel if it is full. */
  private async output(channel: Channel, onReady?: () => void): Promise<void> {
    const closed = await this.working(channel, () => channel.outputFrames())
    if (!closed || !this.queue.includes(channel)) return
    // Blocks that did not fit come next.
    const { latestL2 } = channel
    if (latestL2 !== undefined) {
      this.moveNext(latestL2.number + 1)
      this.durationFrom = Math.max(this.durationFrom, latestL2.l1Origin.number)
    }
    this.noteClosed(channel)
    onReady?.()
  }

  /** If a compressor fails, its channel is dropped: how much of a block it took is unknown. */
  private async working<T>(channel: Channel, step: () => Promise<T>): Promise<T> {
    try {
      return await step()
    } catch (error) {
      this.invalidate(channel)
      throw error
    }
  }

  /** Blocks that are not held any more are skipped. */
  private moveNext(to: number): void {
    this.nextNumber = Math.max(to, this.held[0]?.number ?? to)
  }

  private blockAt(number: number): BatcherBlock | undefined {
    const oldest = this.held[0]
    return oldest === undefined || number < oldest.number ? undefined : this.held[number - oldest.number]
  }

  private get open(): Channel | undefined {
    const newest = this.queue.at(-1)
    return newest === undefined || newest.isClosed ? undefined : newest
  }

  private get channelsAhead(): number {
    return this.queue.filter((channel) => channel.isClosed && channel.noneSubmitted).length
  }

  private openChannel(l1Head: number): Channel {
    const { open } = this
    if (open !== undefined) return open
    const { da, rollupConfig } = this.options
    const { config } = da
    const { createOut = createChannelOut } = this.modules
    const id = toHex(randomBytes(16))
    const channel = new Channel(id, config, createOut(config, rollupConfig, this.expected), this.durationFrom)
    this.queue.push(channel)
    this.modules.metrics.channel('opened')
    this.modules.logger.debug('Created channel', {
      id,
      l1Head,
      blocks_pending: this.pendingBlockCount,
      batch_type: config.batchType,
      compression_algo: config.algorithmName,
      target_num_frames: config.targetNumFrames,
      max_frame_size: config.maxFrameBytes,
      use_blobs: config.useBlobs,
    })
    return channel
  }

  private noteClosed(channel: Channel): void {
    const first = channel.blocks[0]
    const last = channel.latestL2
    this.modules.metrics.channel('closed')
    this.modules.metrics.channelClosed(channel.frameCount, channel.inputBytes, channel.outputBytes)
    this.modules.logger[channel.hasTransactions ? 'info' : 'debug']('Channel closed', {
      id: channel.id,
      blocks_pending: this.pendingBlockCount,
      num_frames: channel.frameCount,
      input_bytes: channel.inputBytes,
      output_bytes: channel.outputBytes,
      oldest_l1_origin: first?.l1Origin.number,
      l1_origin: last?.l1Origin.number,
      oldest_l2: first?.number,
      latest_l2: last?.number,
      full_reason:
        channel.fullReason === undefined ? undefined : `channel full: ${CHANNEL_FULL_REASONS[channel.fullReason]}`,
      compr_ratio: channel.comprRatio,
    })
    const { config } = channel
    if (channel.frameCount > framesInTime(config)) {
      this.modules.logger.warn('Channel has more frames than can be confirmed before it times out', {
        id: channel.id,
        num_frames: channel.frameCount,
        frames_in_time: framesInTime(config),
        txs_in_flight: config.txsInFlight,
        num_confirmations: config.numConfirmations,
        channel_timeout: config.channelTimeout,
      })
    }
  }

  /** Derivation cannot read the channel any more. Its blocks, and those of all later channels, go into new channels. */
  private invalidate(channel: Channel): void {
    const index = this.queue.indexOf(channel)
    if (index === -1) return
    const first = channel.blocks[0]
    if (first !== undefined) this.moveNext(first.number)
    this.drop(this.queue.slice(index))
  }

  /** Drops channels. The outcome of their transactions is ignored. */
  private drop(channels: readonly Channel[]): void {
    const dropped = new Set(channels)
    for (const [id, owner] of this.txChannels) if (dropped.has(owner)) this.txChannels.delete(id)
    this.leave(channels)
  }

  private leave(channels: readonly Channel[]): void {
    const leaving = new Set(channels)
    this.queue = this.queue.filter((channel) => !leaving.has(channel))
    for (const channel of leaving) channel.destroy()
  }
}

function gwei(wei: bigint): number {
  return Number(wei) / 1e9
}

/** @param expected compression ratios that channels of one chain share */
export function createChannelOut(
  config: ChannelConfig,
  rollupConfig: RollupConfig,
  expected?: ExpectedCompression,
): ChannelOut {
  return config.batchType === 'span'
    ? new SpanChannelOut(config, rollupConfig, expected)
    : new SingularChannelOut(config, rollupConfig)
}
