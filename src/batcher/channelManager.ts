import { randomBytes } from 'node:crypto'
import { type Hex, toHex } from '../lib/hex.ts'
import type { Logger } from '../lib/logger.ts'
import { SerialLock } from '../lib/serialLock.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import { Channel, type TxData } from './channel.ts'
import type { ChannelConfig } from './channelConfig.ts'
import { CHANNEL_FULL_REASONS, createChannelOut } from './channelOut.ts'
import type { BatcherBlock } from './l2Block.ts'
import type { BatcherMetrics } from './metrics.ts'

export interface ChannelManagerModules {
  logger: Logger
  metrics: BatcherMetrics
  /** 16 random bytes for each new channel. */
  createChannelId?: () => Hex
}

export interface ChannelManagerOptions {
  config: ChannelConfig
  rollupConfig: RollupConfig
}

/** When the open channel is closed, besides when it is full. */
export interface FillOptions {
  /** Now, so that everything held leaves. */
  force: boolean
  /** When its deadline has passed. Default true. */
  deadlines?: boolean
}

/**
 * Holds the L2 blocks that are not yet safe and the channels made of them. Blocks stay until they are safe, channels
 * until their last block is: only then is it certain that nothing has to be sent again.
 */
export class ChannelManager {
  private readonly modules: ChannelManagerModules
  private readonly options: ChannelManagerOptions
  private readonly lock = new SerialLock()
  private held: BatcherBlock[] = []
  /** Index in `held` of the first block that is in no channel. */
  private cursor = 0
  private queue: Channel[] = []
  private current: Channel | undefined
  private readonly txChannels = new Map<string, Channel>()
  private durationFrom = 0
  private heldBytes = 0
  private heldDaBytes = 0

  constructor(modules: ChannelManagerModules, options: ChannelManagerOptions) {
    this.modules = modules
    this.options = options
  }

  /** Oldest first; each is the parent of the next. */
  get blocks(): readonly BatcherBlock[] {
    return this.held
  }

  get channels(): readonly Channel[] {
    return this.queue
  }

  get newestBlock(): BatcherBlock | undefined {
    return this.held.at(-1)
  }

  /** Uncompressed bytes of all blocks held. */
  get heldSizeBytes(): number {
    return this.heldBytes
  }

  /** Blocks in no channel yet. */
  get pendingBlockCount(): number {
    return this.held.length - this.cursor
  }

  /** Forgets everything. Durations of new channels count from `l1Origin`, that of the safe head. */
  clear(l1Origin: number): Promise<void> {
    return this.lock.run(async () => {
      for (const channel of this.queue) channel.destroy()
      this.held = []
      this.heldBytes = 0
      this.heldDaBytes = 0
      this.cursor = 0
      this.queue = []
      this.current = undefined
      this.txChannels.clear()
      this.durationFrom = l1Origin
      this.recordPending()
    })
  }

  /** False: the block does not extend the newest one, the chain was reorganised. */
  addBlock(block: BatcherBlock): Promise<boolean> {
    return this.lock.run(async () => {
      const newest = this.newestBlock
      if (newest !== undefined && newest.hash !== block.parentHash) return false
      this.held.push(block)
      this.heldBytes += block.rawSizeBytes
      this.heldDaBytes += block.estimatedDaBytes
      this.modules.metrics.blockAdded(block)
      this.recordPending()
      return true
    })
  }

  /** Drops the oldest blocks and channels, which are safe. */
  prune(blockCount: number, channelCount: number): Promise<void> {
    return this.lock.run(async () => {
      const dropped = this.held.splice(0, blockCount)
      for (const block of dropped) {
        this.heldBytes -= block.rawSizeBytes
        this.heldDaBytes -= block.estimatedDaBytes
      }
      this.cursor = Math.max(0, this.cursor - dropped.length)
      for (const channel of this.queue.splice(0, channelCount)) {
        if (channel === this.current) this.current = undefined
        channel.destroy()
      }
      this.recordPending()
    })
  }

  /**
   * The next frame to send, or undefined when there is none yet.
   */
  nextTxData(l1Head: number, options: FillOptions): Promise<TxData | undefined> {
    return this.lock.run(async () => {
      const channel = this.queue.find((candidate) => candidate.hasTxData) ?? (await this.fillChannel(l1Head, options))
      if (channel === undefined) return undefined
      const origin = channel.latestL1Origin
      if (origin !== undefined) this.durationFrom = Math.max(this.durationFrom, origin.number)
      const data = channel.nextTxData()
      this.txChannels.set(data.id, channel)
      return data
    })
  }

  txFailed(id: string): Promise<void> {
    return this.lock.run(async () => {
      const channel = this.txChannels.get(id)
      this.txChannels.delete(id)
      this.modules.metrics.txFailed()
      channel?.txFailed(id)
    })
  }

  txConfirmed(id: string, inclusionBlock: number): Promise<void> {
    return this.lock.run(async () => {
      const channel = this.txChannels.get(id)
      this.txChannels.delete(id)
      this.modules.metrics.txConfirmed()
      // A channel that was cleared meanwhile: its data may be on L1, which does no harm.
      if (channel === undefined) return
      channel.txConfirmed(id, inclusionBlock)
      if (channel.isTimedOut) {
        this.modules.metrics.channel('timed_out')
        this.modules.logger.warn('Channel timed out', { id: channel.id, frames: channel.frameCount })
        this.invalidate(channel)
      } else if (channel.isFullySubmitted) {
        this.modules.metrics.channel('fully_submitted')
        this.modules.logger.info('Channel is fully submitted', {
          id: channel.id,
          frames: channel.frameCount,
          latest_l2: channel.latestL2?.number,
        })
      }
    })
  }

  /** Blocks go into the open channel until there are none left or it is full. */
  private async fillChannel(l1Head: number, { force, deadlines = true }: FillOptions): Promise<Channel | undefined> {
    while (this.cursor < this.held.length) {
      const channel = this.openChannel(l1Head)
      const block = this.held[this.cursor]
      if (block === undefined) break
      const { added, returned = 0 } = await channel.addBlock(block)
      this.cursor += (added ? 1 : 0) - returned
      if (channel.isFull) break
    }
    const channel = this.current
    if (channel === undefined || channel.blocks.length === 0) return undefined
    // Even when the deadline has passed it is better to have taken all waiting blocks in first.
    if (deadlines) channel.checkDeadline(l1Head)
    if (force) channel.setFull('terminated')
    const closing = await channel.outputFrames()
    if (closing !== undefined) {
      this.cursor -= closing.returned
      this.noteClosed(channel)
    }
    this.recordPending()
    return channel.hasTxData ? channel : undefined
  }

  private openChannel(l1Head: number): Channel {
    if (this.current !== undefined && !this.current.isFull) return this.current
    const { config, rollupConfig } = this.options
    const id = this.modules.createChannelId?.() ?? toHex(randomBytes(16))
    const channel = new Channel(id, config, createChannelOut(config, rollupConfig), this.durationFrom)
    this.current = channel
    this.queue.push(channel)
    this.modules.metrics.channel('opened')
    this.modules.logger.info('Created channel', {
      id,
      l1Head,
      blocks_pending: this.pendingBlockCount,
      batch_type: config.batchType,
      compression_algo: config.algorithmName,
      target_num_frames: config.targetNumFrames,
      max_frame_size: config.maxFrameBytes,
      use_blobs: false,
    })
    return channel
  }

  private noteClosed(channel: Channel): void {
    const first = channel.blocks[0]
    const last = channel.latestL2
    const ratio = channel.inputBytes === 0 ? 0 : channel.outputBytes / channel.inputBytes
    this.modules.metrics.channel('closed')
    this.modules.metrics.channelClosed(channel.frameCount, channel.inputBytes, channel.outputBytes)
    this.modules.logger.info('Channel closed', {
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
      compr_ratio: Number(ratio.toFixed(3)),
    })
  }

  /** The channel can no longer be read from L1: it and all later ones are made anew from their blocks. */
  private invalidate(channel: Channel): void {
    const index = this.queue.indexOf(channel)
    if (index === -1) return
    const first = channel.blocks[0]
    const blockIndex = this.held.findIndex((block) => block.hash === first?.hash)
    this.cursor = Math.min(this.cursor, Math.max(0, blockIndex))
    const dropped = new Set(this.queue.splice(index))
    for (const [id, owner] of this.txChannels) if (dropped.has(owner)) this.txChannels.delete(id)
    for (const owner of dropped) owner.destroy()
    this.current = undefined
    this.recordPending()
  }

  private recordPending(): void {
    this.modules.metrics.pending({
      blocks: this.pendingBlockCount,
      bytes: this.heldBytes,
      unsafeDaBytes: this.heldDaBytes,
      channels: this.queue.length,
    })
  }
}
