import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { channelTimeout, type Frame, isForkActive, maxChannelBankSize } from '../protocol/index.ts'
import type { L1BlockRef, RollupConfig } from '../protocol/types.ts'
import { OpenChannel } from './openChannel.ts'
import type { Pull } from './types.ts'

export interface FrameStage {
  readonly origin: L1BlockRef
  next(): Promise<Pull<Frame>>
}

/** A stage whose items are the data of complete channels. */
export interface ChannelStage {
  readonly origin: L1BlockRef
  next(): Promise<Pull<Uint8Array>>
  /** Forgets the channel that is being assembled, where the fork's rules ask for it. */
  flushChannel(): void
}

/** Fourth stage before Holocene: channels whose frames come in any order (specs: derivation, "Channel Bank"). */
export class ChannelBank implements ChannelStage {
  private readonly prev: FrameStage
  private readonly logger: Logger
  private readonly config: RollupConfig
  /** In order of their first frame. */
  private readonly channels = new Map<Hex, OpenChannel>()

  constructor({ prev, logger }: { prev: FrameStage; logger: Logger }, config: RollupConfig) {
    this.prev = prev
    this.logger = logger
    this.config = config
  }

  get origin(): L1BlockRef {
    return this.prev.origin
  }

  async next(): Promise<Pull<Uint8Array>> {
    const data = this.read()
    if (data !== undefined) return data
    const frame = await this.prev.next()
    if (frame === 'again' || frame === 'empty') return frame
    this.ingest(frame)
    return 'again'
  }

  flushChannel(): void {}

  /** Takes out the first channel that may be read, and those that timed out: older ones stand before younger ones. */
  private read(): Uint8Array | undefined {
    const onlyFirst = !isForkActive(this.config, 'canyon', this.origin.timestamp)
    for (const channel of this.channels.values()) {
      if (this.isTimedOut(channel)) {
        this.logger.info('Channel timed out', { channel: channel.id, openBlock: channel.openBlock })
        this.channels.delete(channel.id)
        continue
      }
      if (channel.isReady) {
        this.channels.delete(channel.id)
        return channel.data()
      }
      if (onlyFirst) return undefined
    }
    return undefined
  }

  private ingest(frame: Frame): void {
    let channel = this.channels.get(frame.channelId)
    if (channel === undefined) {
      channel = new OpenChannel(frame.channelId, this.origin.number, { inOrder: false })
      this.channels.set(channel.id, channel)
    }
    const refusal = this.isTimedOut(channel) ? 'channel timed out' : channel.add(frame)
    if (refusal !== undefined) {
      this.logger.info('Ignoring frame', { channel: channel.id, frame: frame.number, reason: refusal })
      return
    }
    this.prune()
  }

  private prune(): void {
    let total = 0
    for (const channel of this.channels.values()) total += channel.size
    const limit = maxChannelBankSize(this.config, this.origin.timestamp)
    for (const channel of this.channels.values()) {
      if (total <= limit) return
      this.logger.warn('Channel bank is full, dropping its oldest channel', { channel: channel.id })
      this.channels.delete(channel.id)
      total -= channel.size
    }
  }

  private isTimedOut(channel: OpenChannel): boolean {
    return channel.isTimedOut(this.origin.number, channelTimeout(this.config, this.origin.timestamp))
  }
}
