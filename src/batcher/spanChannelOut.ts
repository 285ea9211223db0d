import { EMPTY_BYTES } from '../lib/bytes.ts'
import { maxRlpBytesPerChannel } from '../rollup/protocol/index.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { AddBlockOutcome, ChannelOut } from './channelOut.ts'
import { compressAll } from './compress/algorithm.ts'
import type { BatcherBlock } from './l2Block.ts'
import { SpanEncoding } from './spanEncoding.ts'

/** What compression may add to data that do not compress: a header and a few bytes for each 16 kB. */
const COMPRESSION_SLACK_BYTES = 64
/** A channel this full, as a share of the target, counts as full: the rest is not worth another compression. */
const FULL_SHARE = 0.99
/** Where estimates aim: between full and over the target. */
const AIMED_SHARE = 0.995
/** The input may grow this much between two compressions, however well the last data compressed. */
const MAX_GROWTH = 8
/** Probes at estimated places before the search for the last block that fits goes by halves. */
const MAX_ESTIMATED_PROBES = 3

/** The compressed length of the first `count` blocks. */
interface Measurement {
  count: number
  bytes: number
}

/**
 * Span batches: all blocks of a span are encoded together, so the output exists only once the channel is closed, and
 * only compressing everything tells how long it is. That is done at few places: when even incompressible data might
 * reach the target for the first time, and from then on where the last measured growth is thought to reach it. The
 * estimate may be wrong, so blocks can turn out not to fit after all; these go back to the caller. Nothing is ever put
 * out that is longer than the target, but for a first block that is too large on its own.
 */
export class SpanChannelOut implements ChannelOut {
  private readonly config: ChannelConfig
  private readonly rollupConfig: RollupConfig
  private readonly encoding: SpanEncoding
  /** The longest that is known to fit. */
  private fitting: Measurement = { count: 0, bytes: 0 }
  /** Compressed form of the blocks of `fitting`. */
  private fittingOutput: Uint8Array | undefined
  /** Compressed bytes for each byte of input, as last measured. */
  private ratio = 1
  private rlpBytes = 0
  private output: Uint8Array = EMPTY_BYTES

  private readonly compress: typeof compressAll

  constructor(config: ChannelConfig, rollupConfig: RollupConfig, compress = compressAll) {
    this.config = config
    this.rollupConfig = rollupConfig
    this.compress = compress
    this.encoding = new SpanEncoding(rollupConfig, config.maxBlocksPerSpanBatch)
  }

  get inputBytes(): number {
    return this.rlpBytes === 0 ? this.encoding.bound() : this.rlpBytes
  }

  get readyBytes(): number {
    return this.output.length
  }

  async addBlock(block: BatcherBlock): Promise<AddBlockOutcome> {
    const { encoding } = this
    const before = encoding.count
    encoding.push(block)
    const rlpLimit = maxRlpBytesPerChannel(this.rollupConfig, block.timestamp)
    if (encoding.bound() > rlpLimit && encoding.encode().length > rlpLimit) {
      encoding.truncate(before)
      return { added: false, full: 'rlpLimit' }
    }
    if (!this.mayBeFull()) return { added: true }

    const measured = await this.measure(encoding.count)
    const target = this.config.targetOutputBytes
    if (measured.bytes <= target || encoding.count === 1)
      return measured.bytes < FULL_SHARE * target ? { added: true } : { added: true, full: 'compressor' }
    await this.shrink(measured)
    return { added: false, full: 'compressor', returned: before - encoding.count }
  }

  async close(): Promise<number> {
    const { encoding } = this
    const before = encoding.count
    if (this.fitting.count !== encoding.count) {
      const measured = await this.measure(encoding.count)
      if (measured.bytes > this.config.targetOutputBytes && measured.count > 1) await this.shrink(measured)
    }
    const encoded = encoding.encode()
    this.rlpBytes = encoded.length
    this.output = this.fittingOutput ?? (await this.compress(encoded, this.config.algorithm))
    const returned = before - encoding.count
    this.destroy()
    return returned
  }

  read(maxBytes: number): Uint8Array {
    const taken = this.output.subarray(0, maxBytes)
    this.output = this.output.subarray(taken.length)
    return taken
  }

  destroy(): void {
    this.encoding.truncate(0)
    this.fittingOutput = undefined
  }

  /** Whether it is time to measure. */
  private mayBeFull(): boolean {
    const { fitting, encoding } = this
    const target = this.config.targetOutputBytes
    const added = encoding.bound() - encoding.bound(fitting.count)
    if (fitting.bytes + added + COMPRESSION_SLACK_BYTES < target) return false
    if (fitting.count === 0) return true
    if (fitting.bytes + this.ratio * added >= AIMED_SHARE * target) return true
    return encoding.bound() >= MAX_GROWTH * encoding.bound(fitting.count)
  }

  /** Compresses the first `count` blocks; what fits is kept. A first block on its own always does. */
  private async measure(count: number): Promise<Measurement> {
    const { encoding, fitting } = this
    const output = await this.compress(encoding.encode(count), this.config.algorithm)
    const measured = { count, bytes: output.length }
    if (measured.bytes > this.config.targetOutputBytes && count > 1) return measured
    const added = encoding.bound(count) - encoding.bound(fitting.count)
    this.ratio = Math.min(1, Math.max(0, (measured.bytes - fitting.bytes) / added))
    this.fitting = measured
    this.fittingOutput = output
    return measured
  }

  /** Takes blocks off the end until the rest fits, given what is too long. */
  private async shrink(tooLong: Measurement): Promise<void> {
    let over = tooLong
    const target = this.config.targetOutputBytes
    for (let probes = 0; over.count - this.fitting.count > 1; probes++) {
      if (this.fitting.bytes >= FULL_SHARE * target) break
      const count = probes < MAX_ESTIMATED_PROBES ? this.estimatedCount(over) : this.middle(over)
      const measured = await this.measure(count)
      if (measured.bytes > target && count > 1) over = measured
    }
    if (this.fitting.count === 0) await this.measure(1)
    this.encoding.truncate(this.fitting.count)
  }

  private middle(over: Measurement): number {
    return (this.fitting.count + over.count) >>> 1
  }

  /** The number of blocks that is aimed at, taking growth between two measurements as even. */
  private estimatedCount(over: Measurement): number {
    const { encoding, fitting } = this
    const share = (AIMED_SHARE * this.config.targetOutputBytes - fitting.bytes) / (over.bytes - fitting.bytes)
    const from = encoding.bound(fitting.count)
    const wanted = from + share * (encoding.bound(over.count) - from)
    let count = fitting.count + 1
    while (count < over.count - 1 && encoding.bound(count + 1) <= wanted) count++
    return count
  }
}
