import type { Hex } from '../../lib/hex.ts'
import { type Frame, isForkActive, maxChannelBankSize } from '../protocol/index.ts'
import { ChannelStage } from './channelStage.ts'
import { OpenChannel } from './openChannel.ts'
import type { Pull } from './types.ts'

/** Fourth stage before Holocene: several channels, frames in any order (specs: derivation, "Channel Bank"). */
export class ChannelBank extends ChannelStage {
  /** In the order of their first frame. */
  private readonly channels = new Map<Hex, OpenChannel>()
  /** Total accounted size of all channels in bytes. */
  private size = 0
  /** Number of complete channels. */
  private ready = 0

  async next(): Promise<Pull<Uint8Array>> {
    const data = this.read()
    if (data !== undefined) return data
    const frame = await this.prev.next()
    if (frame === 'again' || frame === 'empty') return frame
    this.ingest(frame)
    return 'again'
  }

  flushChannel(): void {}

  /** Removes and returns the first readable channel. Also removes timed-out channels; older channels come first. */
  private read(): Uint8Array | undefined {
    const onlyFirst = !isForkActive(this.config, 'canyon', this.origin.timestamp)
    for (const channel of this.channels.values()) {
      if (this.isTimedOut(channel)) {
        this.logger.info('Channel timed out', { channel: channel.id, openBlock: channel.openBlock })
        this.remove(channel, 'timed-out')
        continue
      }
      if (channel.isReady) {
        this.remove(channel, 'read')
        return channel.data()
      }
      // Stops early: a full bank may hold millions of channels, and this runs before each frame.
      if (onlyFirst || this.ready === 0) return undefined
    }
    return undefined
  }

  private ingest(frame: Frame): void {
    let channel = this.channels.get(frame.channelId)
    if (channel === undefined) {
      channel = new OpenChannel(frame.channelId, this.origin.number, { inOrder: false })
      this.channels.set(channel.id, channel)
      if (this.channels.size === 1) this.emit({ kind: 'channel-first', channel: channel.id })
    }
    const { size, isReady } = channel
    const refusal = this.isTimedOut(channel) ? 'channel timed out' : channel.add(frame)
    if (refusal !== undefined) {
      this.ignore(frame, refusal)
      return
    }
    this.size += channel.size - size
    if (channel.isReady && !isReady) this.ready++
    this.emitAdded(channel, frame)
    this.prune()
  }

  private prune(): void {
    const limit = maxChannelBankSize(this.config, this.origin.timestamp)
    for (const channel of this.channels.values()) {
      if (this.size <= limit) return
      this.logger.warn('Channel bank is full, dropping its oldest channel', { channel: channel.id })
      this.remove(channel, 'dropped', 'the channel bank is full')
    }
  }

  private remove({ id, size, isReady }: OpenChannel, how: 'read' | 'timed-out' | 'dropped', reason?: string): void {
    const [before] = this.channels.keys()
    this.channels.delete(id)
    this.size -= size
    if (isReady) this.ready--
    const why = reason === undefined ? {} : { reason }
    this.emit({ kind: 'channel-gone', l1Block: this.origin.number, channel: id, how, ...why })
    const [first] = this.channels.keys()
    if (first !== undefined && first !== before) this.emit({ kind: 'channel-first', channel: first })
  }
}
