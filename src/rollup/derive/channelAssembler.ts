import { maxRlpBytesPerChannel } from '../protocol/index.ts'
import { ChannelStage } from './channelStage.ts'
import { OpenChannel } from './openChannel.ts'
import type { Pull } from './types.ts'

/**
 * Fourth stage since Holocene: one channel at a time, frames strictly in order (specs: holocene/derivation, "Channel
 * Bank").
 */
export class ChannelAssembler extends ChannelStage {
  private staged: OpenChannel | undefined

  async next(): Promise<Pull<Uint8Array>> {
    const { number, timestamp } = this.origin
    if (this.staged !== undefined && this.isTimedOut(this.staged)) this.drop('timed out', 'timed-out')
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
      this.ignore(frame, refusal ?? 'no such channel is open')
      return 'again'
    }
    this.emitAdded(channel, frame)
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
