import { DecodeError, describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { runInTurns } from '../../lib/steps.ts'
import {
  type Batch,
  buildSpanBatch,
  isForkActive,
  maxRlpBytesPerChannel,
  openChannelBatches,
  readBatch,
} from '../protocol/index.ts'
import type { L1BlockRef, RollupConfig } from '../protocol/types.ts'
import type { ChannelStage } from './channelBank.ts'
import type { Pull } from './types.ts'

/**
 * Fifth stage: batches out of complete channels. A fault of the compressed stream, of its RLP or of a batch's layout loses the rest of the channel; a
 * span batch before Delta, and one whose columns make no transactions, is dropped alone.
 */
export class ChannelReader {
  private readonly prev: ChannelStage
  private readonly logger: Logger
  private readonly config: RollupConfig
  private reading: Iterator<Uint8Array> | undefined

  constructor({ prev, logger }: { prev: ChannelStage; logger: Logger }, config: RollupConfig) {
    this.prev = prev
    this.logger = logger
    this.config = config
  }

  get origin(): L1BlockRef {
    return this.prev.origin
  }

  async next(): Promise<Pull<Batch>> {
    let channel: Uint8Array | undefined
    if (this.reading === undefined) {
      const data = await this.prev.next()
      if (data === 'again' || data === 'empty') return data
      channel = data
    }
    try {
      if (channel !== undefined) this.reading = await this.open(channel)
      const item = this.reading?.next()
      if (item?.done === false) return (await this.decode(item.value)) ?? 'again'
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.logger.warn('Leaving channel that does not decode', {
        l1Block: this.origin.number,
        err: describeError(error),
      })
    }
    this.reading = undefined
    return 'again'
  }

  /** Leaves the channel that is being read, and the one being assembled. */
  flushChannel(): void {
    this.reading = undefined
    this.prev.flushChannel()
  }

  private open(data: Uint8Array): Promise<Iterator<Uint8Array>> {
    const l1Time = this.origin.timestamp
    const fjord = isForkActive(this.config, 'fjord', l1Time)
    return openChannelBatches(data, { fjord, maxRlpBytes: maxRlpBytesPerChannel(this.config, l1Time) })
  }

  /** undefined when this batch alone is lost. Throws DecodeError when the rest of the channel is. */
  private async decode(bytes: Uint8Array): Promise<Batch | undefined> {
    const read = await runInTurns(readBatch(bytes))
    if (read.type === 'singular') return read
    const l1Block = this.origin.number
    if (!isForkActive(this.config, 'delta', this.origin.timestamp)) {
      this.logger.warn('Dropping span batch before Delta', { l1Block })
      return undefined
    }
    try {
      return await runInTurns(buildSpanBatch(read, this.config))
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.logger.warn('Dropping malformed span batch', { l1Block, err: describeError(error) })
      return undefined
    }
  }
}
