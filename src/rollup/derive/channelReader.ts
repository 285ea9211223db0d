import { DecodeError, describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { type Batch, decodeBatch, isForkActive, maxRlpBytesPerChannel, readChannelBatches } from '../protocol/index.ts'
import type { L1BlockRef, RollupConfig } from '../protocol/types.ts'
import type { ChannelStage } from './channelBank.ts'
import type { Pull } from './types.ts'

/**
 * Fifth stage: batches out of complete channels. A batch that is malformed, or a span batch before Delta, is dropped alone; a
 * fault of the compressed stream or of its RLP loses the rest of the channel.
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
    if (this.reading === undefined) {
      const data = await this.prev.next()
      if (data === 'again' || data === 'empty') return data
      const l1Time = this.origin.timestamp
      const fjord = isForkActive(this.config, 'fjord', l1Time)
      const maxRlpBytes = maxRlpBytesPerChannel(this.config, l1Time)
      this.reading = readChannelBatches(data, { fjord, maxRlpBytes })[Symbol.iterator]()
    }
    const bytes = this.nextBytes(this.reading)
    if (bytes === undefined) {
      this.reading = undefined
      return 'again'
    }
    return this.decode(bytes) ?? 'again'
  }

  /** Leaves the channel that is being read, and the one being assembled. */
  flushChannel(): void {
    this.reading = undefined
    this.prev.flushChannel()
  }

  private nextBytes(reading: Iterator<Uint8Array>): Uint8Array | undefined {
    try {
      const { value, done } = reading.next()
      return done ? undefined : value
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.logger.warn('Leaving channel that does not decode', {
        l1Block: this.origin.number,
        err: describeError(error),
      })
      return undefined
    }
  }

  private decode(bytes: Uint8Array): Batch | undefined {
    try {
      const batch = decodeBatch(bytes, this.config)
      if (batch.type === 'singular' || isForkActive(this.config, 'delta', this.origin.timestamp)) return batch
      this.logger.warn('Dropping span batch before Delta', { l1Block: this.origin.number })
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.logger.warn('Dropping malformed batch', { l1Block: this.origin.number, err: describeError(error) })
    }
    return undefined
  }
}
