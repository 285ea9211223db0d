import type { Logger } from '../../lib/logger.ts'
import { channelTimeout, maxRlpBytesPerChannel } from '../protocol/index.ts'
import type { L1BlockRef, RollupConfig } from '../protocol/types.ts'
import type { ChannelStage, FrameConsumerModules, FrameStage } from './channelBank.ts'
import { type DerivationListener, ignoreEvents } from './events.ts'
import { OpenChannel } from './openChannel.ts'
import type { Pull } from './types.ts'

/**
 * Fourth stage since Holocene: one channel at a time, frames strictly in order (specs: holocene/derivation, "Channel
 * Bank").
 */
export class ChannelAssembler implements ChannelStage {
  private readonly prev: FrameStage
  private readonly logger: Logger
  private readonly emit: DerivationListener
  private readonly config: RollupConfig
  private staged: OpenChannel | undefined

  constructor({ prev, logger, emit = ignoreEvents }: FrameConsumerModules, config: RollupConfig) {
    this.prev = prev
    this.logger = logger
    this.emit = emit
    this.config = config
  }

  get origin(): L1BlockRef {
    return this.prev.origin
  }

  async next(): Promise<Pull<Uint8Array>> {
    const { number, timestamp } = this.origin
    if (this.staged?.isTimedOut(number, channelTimeout(this.config, timestamp))) this.drop('timed out', 'timed-out')
    const frame = await this.prev.next()
    if (frame === 'again' || frame === 'empty') return frame
    if (frame.number === 0) {
      if (this.staged !== undefined) this.drop('another channel begins')
      this.staged = new OpenChannel(frame.channelId, number, { inOrder: true })
      this.emit({ kind: 'channel-first', channel: frame.channelId })
    }
    const channel = this.staged
    const refusal = channel?.id === frame.channelId ? channel.add(frame) : 'no such channel is open'
    if (channel === undefined || refusal !== undefined) {
      this.logger.info('Ignoring frame', { channel: frame.channelId, frame: frame.number, reason: refusal })
      const ignored = { channel: frame.channelId, frame: frame.number, reason: refusal ?? 'no such channel is open' }
      this.emit({ kind: 'frame-ignored', l1Block: number, ...ignored })
      return 'again'
    }
    const snapshot = channel.snapshot(channelTimeout(this.config, timestamp))
    this.emit({ kind: 'frame-added', l1Block: number, channel: snapshot, frame: frame.number })
    if (channel.size > maxRlpBytesPerChannel(this.config, timestamp)) {
      this.drop('too large')
      return 'again'
    }
    if (!channel.isReady) return 'again'
    this.staged = undefined
    this.emit({ kind: 'channel-gone', l1Block: number, channel: channel.id, how: 'read' })
    return channel.data()
  }

  flushChannel(): void {
    if (this.staged !== undefined) this.forget(this.staged, 'dropped', 'an earlier batch was dropped')
  }

  private drop(reason: string, how: 'timed-out' | 'dropped' = 'dropped'): void {
    this.logger.info('Dropping channel', { channel: this.staged?.id, openBlock: this.staged?.openBlock, reason })
    if (this.staged !== undefined) this.forget(this.staged, how, reason)
  }

  private forget({ id }: OpenChannel, how: 'timed-out' | 'dropped', reason: string): void {
    this.staged = undefined
    this.emit({ kind: 'channel-gone', l1Block: this.origin.number, channel: id, how, reason })
  }
}
