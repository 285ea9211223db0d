import { channelTimeout, type Frame } from '../protocol/index.ts'
import type { OpenChannel } from './openChannel.ts'
import { type Source, Stage } from './stage.ts'

/** The common part of both fourth stages, whose items are the data of complete channels. */
export abstract class ChannelStage extends Stage<Source<Frame>> {
  protected isTimedOut(channel: OpenChannel): boolean {
    return channel.isTimedOut(this.origin.number, this.timeout())
  }

  protected emitAdded(channel: OpenChannel, { number }: Frame): void {
    const snapshot = channel.snapshot(this.timeout())
    this.emit({ kind: 'frame-added', l1Block: this.origin.number, channel: snapshot, frame: number })
  }

  protected ignore({ channelId, number }: Frame, reason: string): void {
    const ignored = { channel: channelId, frame: number, reason }
    this.logger.info('Ignoring frame', ignored)
    this.emit({ kind: 'frame-ignored', l1Block: this.origin.number, ...ignored })
  }

  private timeout(): number {
    return channelTimeout(this.config, this.origin.timestamp)
  }
}
