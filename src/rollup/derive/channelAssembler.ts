import type { Logger } from '../../lib/logger.ts'
import { channelTimeout, maxRlpBytesPerChannel } from '../protocol/index.ts'
import type { L1BlockRef, RollupConfig } from '../protocol/types.ts'
import type { ChannelStage, FrameStage } from './channelBank.ts'
import { OpenChannel } from './openChannel.ts'
import type { Pull } from './types.ts'

/** Fourth stage from Holocene on: one channel at a time, frames strictly in order (specs: holocene/derivation, "Channel Bank"). */
export class ChannelAssembler implements ChannelStage {
  private readonly prev: FrameStage
  private readonly logger: Logger
  private readonly config: RollupConfig
  private staged: OpenChannel | undefined

  constructor({ prev, logger }: { prev: FrameStage; logger: Logger }, config: RollupConfig) {
    this.prev = prev
    this.logger = logger
    this.config = config
  }

  get origin(): L1BlockRef {
    return this.prev.origin
  }

  async next(): Promise<Pull<Uint8Array>> {
    const { number, timestamp } = this.origin
    if (this.staged?.isTimedOut(number, channelTimeout(this.config, timestamp))) this.drop('timed out')
    const frame = await this.prev.next()
    if (frame === 'again' || frame === 'empty') return frame
    if (frame.number === 0) {
      if (this.staged !== undefined) this.drop('another channel begins')
      this.staged = new OpenChannel(frame.channelId, number, { inOrder: true })
    }
    const channel = this.staged
    const refusal = channel?.id === frame.channelId ? channel.add(frame) : 'no such channel is open'
    if (channel === undefined || refusal !== undefined) {
      this.logger.info('Ignoring frame', { channel: frame.channelId, frame: frame.number, reason: refusal })
      return 'again'
    }
    if (channel.size > maxRlpBytesPerChannel(this.config, timestamp)) {
      this.drop('too large')
      return 'again'
    }
    if (!channel.isReady) return 'again'
    this.staged = undefined
    return channel.data()
  }

  flushChannel(): void {
    this.staged = undefined
  }

  private drop(reason: string): void {
    this.logger.info('Dropping channel', { channel: this.staged?.id, openBlock: this.staged?.openBlock, reason })
    this.staged = undefined
  }
}
