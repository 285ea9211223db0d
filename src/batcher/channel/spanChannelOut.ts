import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { maxRlpBytesPerChannel, SpanBatchEncoder } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { AddBlockOutcome, ChannelOut } from './channelOut.ts'
import { quickLength } from './compress/algorithm.ts'
import { type Compressor, createCompressor } from './compress/compressor.ts'

/** Expected compression. Each channel improves the estimate for the next one. */
export interface ExpectedCompression {
  /** Compressed bytes for each byte of blocks. */
  ratio: number
  /** Compressed bytes for each byte of `quickLength`. Undefined until a channel was compressed. */
  quickRatio: number | undefined
}

/** Compression functions. Tests replace them to count the calls. */
export interface SpanCompression {
  createCompressor: () => Compressor
  quickLength: typeof quickLength
}

/** Bytes of a span beside its blocks: prefix and RLP header. */
const SPAN_BYTES = 80
/** Bytes of a block in a span beside its transactions: an origin bit and the transaction count. */
const BLOCK_BYTES = 2
/** Most bytes by which a transaction grows in a span. Its signature may have leading zeros. */
const MAX_TX_GROWTH_BYTES = 70
/** A span ends here, however well its data compresses, because encoding it blocks the event loop. */
const MAX_SPAN_BYTES = 4_000_000
/** Part of the target. If less than this is free, the data is not compressed again. */
const MIN_REST = 0.005
/** The same before the first compression, when estimates are worse. */
const INITIAL_MIN_REST = 0.03
/** Factor on `quickLength` before the first compression. A little above the value of most chains. */
const INITIAL_QUICK_RATIO = { zlib: 1.01, brotli: 0.95 }
/** Part of the target that a channel aims at: one that is too long must be compressed again. Estimates are seldom worse. */
const AIM = 0.998
/** A channel that returned blocks this often is closed: its blocks differ too much to estimate. */
const MAX_RETURNS = 3
/** Part of all blocks. A step smaller than this says little about the compression of other blocks. */
const SMALL_STEP = 0.1

/**
 * Builds span batches. All blocks of a span are encoded together, column by column. So a channel can only be compressed
 * as a whole, and its length is known only then. A quick compressor estimates the length first, so that the real one
 * runs once for most channels. Blocks that do not fit are returned to the caller. The channel then accepts blocks until
 * no further block fits. The output never exceeds the target, unless the first block alone is larger.
 */
export class SpanChannelOut implements ChannelOut {
  private readonly config: ChannelConfig
  private readonly rollupConfig: RollupConfig
  private readonly expected: ExpectedCompression
  private readonly compression: SpanCompression
  private blocks: BatcherBlock[] = []
  /** Bytes of `blocks`. */
  private blockBytes = 0
  /** Encoded spans that accept no more blocks. */
  private ended: Uint8Array[] = []
  private encoder: SpanBatchEncoder
  /** Estimated or measured compressed length of the first `blockBytes` bytes of blocks. */
  private known = { blockBytes: 0, bytes: SPAN_BYTES }
  /** Compressed bytes that each further byte of blocks adds. */
  private growth: number
  /** The last result of the quick compressor. */
  private quick = { blockBytes: 0, bytes: 0 }
  /** Compressed bytes for each byte of `quickLength`, as measured in this channel. */
  private quickRatio: number | undefined
  /** The compressed output of all blocks. Undefined after the blocks changed. */
  private compressed: Compressor | undefined
  /** The encoded input of all blocks. Undefined after the blocks changed. */
  private encoded: Uint8Array | undefined
  private returns = 0
  private isClosed = false
  private closedInputBytes = 0

  constructor(
    config: ChannelConfig,
    rollupConfig: RollupConfig,
    expected: ExpectedCompression = { ratio: 1, quickRatio: undefined },
    compression: SpanCompression = { createCompressor: () => createCompressor(config.algorithm), quickLength },
  ) {
    this.config = config
    this.rollupConfig = rollupConfig
    this.expected = expected
    this.growth = expected.ratio
    this.compression = compression
    this.encoder = new SpanBatchEncoder(rollupConfig)
  }

  get inputBytes(): number {
    if (this.isClosed) return this.closedInputBytes
    const open = this.encoder.blockCount === 0 ? 0 : SPAN_BYTES + this.encoder.bytes
    return this.ended.reduce((sum, { length }) => sum + length, open)
  }

  get readyBytes(): number {
    return this.isClosed ? (this.compressed?.readyBytes ?? 0) : 0
  }

  async addBlock(block: BatcherBlock): Promise<AddBlockOutcome> {
    if (this.blocks.length > 0) {
      const maxBytes = block.rawSizeBytes + MAX_TX_GROWTH_BYTES * block.transactions.length
      if (this.inputBytes + SPAN_BYTES + maxBytes > maxRlpBytesPerChannel(this.rollupConfig, block.timestamp))
        return { added: false, full: 'rlpLimit' }
      if (this.mayPass(block)) {
        const unfit = await this.estimate()
        if (unfit > 0 && ++this.returns >= MAX_RETURNS) return { added: false, full: 'compressor', returned: unfit }
        if (unfit > 0) return { added: false, returned: unfit }
      }
      if (this.mayPass(block)) {
        const minRest = this.expected.quickRatio === undefined ? INITIAL_MIN_REST : MIN_REST
        const returned = await this.compress()
        if (returned > 0 || this.mayPass(block) || this.leftBytes < minRest * this.config.targetOutputBytes)
          return { added: false, full: 'compressor', returned }
      }
    }
    this.push(block)
    if (this.blocks.length > 1 || !this.mayPass()) return { added: true }
    await this.compress()
    return this.leftBytes <= 0 ? { added: true, full: 'compressor' } : { added: true }
  }

  async close(): Promise<number> {
    const returned = await this.compress()
    this.closedInputBytes = this.inputBytes
    this.isClosed = true
    this.forgetBlocks()
    return returned
  }

  read(maxBytes: number): Uint8Array {
    return this.isClosed ? (this.compressed?.read(maxBytes) ?? EMPTY_BYTES) : EMPTY_BYTES
  }

  destroy(): void {
    this.compressed?.destroy()
    this.compressed = undefined
    this.forgetBlocks()
  }

  private get leftBytes(): number {
    return this.config.targetOutputBytes - this.known.bytes
  }

  private get aimedBytes(): number {
    return AIM * this.config.targetOutputBytes
  }

  /** Whether the channel, with this block, is expected to exceed its aim. */
  private mayPass(block?: BatcherBlock): boolean {
    const bytes = this.blockBytes - this.known.blockBytes + (block === undefined ? 0 : bytesOf(block))
    return this.known.bytes + this.growth * bytes > this.aimedBytes
  }

  private push(block: BatcherBlock): void {
    this.encoder.add({ ...block, epochNumber: block.l1Origin.number, epochHash: block.l1Origin.hash })
    this.blocks.push(block)
    this.blockBytes += bytesOf(block)
    this.encoded = undefined
    this.compressed?.destroy()
    this.compressed = undefined
    if (this.encoder.blockCount === this.config.maxBlocksPerSpanBatch || this.encoder.bytes > MAX_SPAN_BYTES)
      this.endSpan()
  }

  private endSpan(): void {
    this.ended.push(encodeRlp(this.encoder.encode()))
    this.encoder = new SpanBatchEncoder(this.rollupConfig)
  }

  private forgetBlocks(): void {
    this.blocks = []
    this.blockBytes = 0
    this.ended = []
    this.encoded = undefined
    this.encoder = new SpanBatchEncoder(this.rollupConfig)
  }

  /** The encoded bytes of all spans, including the open one. */
  private get input(): Uint8Array {
    if (this.encoded === undefined) {
      const open = this.encoder.blockCount === 0 ? [] : [encodeRlp(this.encoder.encode())]
      this.encoded = concatBytes(...this.ended, ...open)
    }
    return this.encoded
  }

  /**
   * Estimates the compressed length, and removes the newest blocks until the rest is expected to fit. Resolves with the
   * number of removed blocks.
   */
  private async estimate(): Promise<number> {
    const quickRatio = this.quickRatio ?? this.expected.quickRatio ?? INITIAL_QUICK_RATIO[this.config.algorithm.kind]
    let unfit = 0
    while (this.known.blockBytes !== this.blockBytes) {
      const { blockBytes } = this
      const bytes = await this.compression.quickLength(this.input)
      this.quick = { blockBytes, bytes }
      this.note(quickRatio * bytes)
      unfit += this.takeOff(this.known.bytes - this.aimedBytes)
    }
    return unfit
  }

  /**
   * Compresses all blocks, and removes the newest blocks until the rest fits. Resolves with the number of removed
   * blocks.
   */
  private async compress(): Promise<number> {
    let unfit = 0
    while (this.compressed === undefined) {
      const compressor = this.compression.createCompressor()
      this.compressed = compressor
      await compressor.write(this.input)
      await compressor.end()
      this.learn(compressor.readyBytes)
      unfit += this.takeOff(-this.leftBytes)
    }
    return unfit
  }

  /** `bytes` is the compressed length of the present blocks. */
  private note(bytes: number): void {
    const { known, blockBytes } = this
    const step = blockBytes - known.blockBytes
    if (Math.abs(step) > SMALL_STEP * blockBytes) this.growth = (bytes - known.bytes) / step
    this.known = { blockBytes, bytes }
  }

  private learn(bytes: number): void {
    const { blockBytes, quick, expected } = this
    this.note(bytes)
    expected.ratio = bytes / blockBytes
    if (Math.abs(quick.blockBytes - blockBytes) > SMALL_STEP * blockBytes) return
    const seen = bytes / blockBytes / (quick.bytes / quick.blockBytes)
    this.quickRatio = seen
    const { quickRatio = seen } = expected
    // Averages, because differences are partly chance.
    expected.quickRatio = (quickRatio + seen) / 2
  }

  /**
   * Removes the newest blocks, so that the channel is expected to shrink by `bytes`. Returns the number of removed
   * blocks.
   */
  private takeOff(bytes: number): number {
    const { blocks, growth } = this
    let count = 0
    for (let left = bytes; left > 0 && count < blocks.length - 1; count++) {
      const block = blocks.at(-1 - count)
      left -= block === undefined ? 0 : growth * bytesOf(block)
    }
    if (count === 0) return 0
    const { blockBytes } = this
    this.forgetBlocks()
    for (const block of blocks.slice(0, -count)) this.push(block)
    const takenBytes = blockBytes - this.blockBytes
    // Removing a single block does not justify another estimate.
    if (count === 1 && takenBytes <= SMALL_STEP * this.blockBytes)
      this.known = { blockBytes: this.blockBytes, bytes: this.known.bytes - growth * takenBytes }
    return count
  }
}

/** Uncompressed size of a block in a span. */
function bytesOf({ transactions }: BatcherBlock): number {
  return transactions.reduce((sum, { length }) => sum + length, BLOCK_BYTES)
}
