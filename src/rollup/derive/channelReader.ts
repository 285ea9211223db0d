import { DecodeError, describeError } from '../../lib/errors.ts'
import { runYielding } from '../../lib/slicedTask.ts'
import {
  type Batch,
  buildSpanBatch,
  isForkActive,
  maxRlpBytesPerChannel,
  openChannelBatches,
  readBatch,
} from '../protocol/index.ts'
import { type ChannelSource, Stage } from './stage.ts'
import type { Pull } from './types.ts'

/**
 * Fifth stage: reads batches from complete channels. A fault of the compressed stream, of its RLP or of a batch's
 * layout drops the rest of the channel. A span batch before Delta, or with invalid columns, is dropped alone.
 */
export class ChannelReader extends Stage<ChannelSource<Uint8Array>> {
  private reading: Iterator<Uint8Array> | undefined

  async next(): Promise<Pull<Batch>> {
    let channel: Uint8Array | undefined
    if (this.reading === undefined) {
      const data = await this.prev.next()
      if (data === 'again' || data === 'empty') return data
      channel = data
      this.emit({ kind: 'channel-read', l1Block: this.origin.number, bytes: data.length })
    }
    try {
      if (channel !== undefined) this.reading = await this.open(channel)
      const item = this.reading?.next()
      if (item?.done === false) return (await this.decode(item.value)) ?? 'again'
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      const l1Block = this.origin.number
      this.logger.warn('Dropping the rest of a channel that does not decode', { l1Block, err: describeError(error) })
      this.emit({ kind: 'channel-left', l1Block, reason: describeError(error) })
    }
    this.reading = undefined
    return 'again'
  }

  /** Drops the channel that is being read and the channel that is being assembled. */
  flushChannel(): void {
    this.reading = undefined
    this.prev.flushChannel()
  }

  private open(data: Uint8Array): Promise<Iterator<Uint8Array>> {
    const l1Time = this.origin.timestamp
    const fjord = isForkActive(this.config, 'fjord', l1Time)
    return openChannelBatches(data, { fjord, maxRlpBytes: maxRlpBytesPerChannel(this.config, l1Time) })
  }

  /** Returns undefined if only this batch is dropped. Throws DecodeError if the rest of the channel is lost. */
  private async decode(bytes: Uint8Array): Promise<Batch | undefined> {
    const read = await runYielding(readBatch(bytes))
    const l1Block = this.origin.number
    if (read.type === 'singular') {
      this.emit({ kind: 'batch-read', l1Block, type: 'singular' })
      return read
    }
    if (!isForkActive(this.config, 'delta', this.origin.timestamp)) {
      this.logger.warn('Dropping span batch before Delta', { l1Block })
      this.emitDropped('span batch before Delta')
      return undefined
    }
    try {
      const batch = await runYielding(buildSpanBatch(read, this.config))
      this.emit({ kind: 'batch-read', l1Block, type: 'span' })
      return batch
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.logger.warn('Dropping malformed span batch', { l1Block, err: describeError(error) })
      this.emitDropped(describeError(error))
      return undefined
    }
  }

  private emitDropped(reason: string): void {
    this.emit({ kind: 'batch-dropped', l1Block: this.origin.number, type: 'span', reason, losesChannel: false })
  }
}
