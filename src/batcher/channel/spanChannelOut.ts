import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { maxRlpBytesPerChannel, SpanBatchEncoder } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { AddBlockOutcome, ChannelOut } from './channelOut.ts'
import { quickLength } from './compress/algorithm.ts'
import { type Compressor, createCompressor } from './compress/compressor.ts'

/** What compression is thought to do; what one channel learns serves the next. */
export interface ExpectedCompression {
  /** Compressed bytes for each byte of blocks. */
  ratio: number
  /** Compressed bytes for each byte of `quickLength`; undefined: none was compressed yet. */
  besideQuick: number | undefined
}

/** How data are compressed; tests count what goes through it. */
export interface SpanCompression {
  createCompressor: () => Compressor
  quickLength: typeof quickLength
}

/** What a span has beside its blocks: prefix and RLP header. */
const SPAN_BYTES = 80
/** What a block has in a span beside its transactions: an origin bit and their count. */
const BLOCK_BYTES = 2
/** No transaction grows by more when it goes into a span: its signature may have leading zeros. */
const MAX_TX_GROWTH_BYTES = 70
/** A span is ended here, however well its data may compress: encoding it holds the event loop. */
const MAX_SPAN_BYTES = 4_000_000
/** Of the target: what is left of it is not worth compressing again. */
const NOT_WORTH = 0.005
/** The same while nothing was compressed yet: estimates are worse. */
const NOT_WORTH_AT_FIRST = 0.03
/** What `quickLength` is multiplied by while nothing was compressed yet: a little more than most chains turn out to have. */
const BESIDE_QUICK_AT_FIRST = { zlib: 1.01, brotli: 0.95 }
/**
 * Where a block is less than `SMALL_BLOCK` of the target, one more or less hardly matters, but a channel too long by one
 * has to be compressed again: the aim is then so much below the target. Estimates are seldom wrong by more.
 */
const SMALL_BLOCK = 0.01
const CAUTION = 0.002
/** A channel whose blocks proved not to fit so often takes no more of them: they differ too much to be foreseen. */
const MAX_RETURNS = 3
/** Of all blocks: what fewer of them change says little about others. */
const FEW = 0.1

/**
 * Span batches: all blocks of a span are encoded together, column by column, so a channel can only be compressed as a
 * whole, and how long it becomes shows only then. Its length is estimated by a quick compressor first, so that the real
 * one has to run once for most channels. What does not fit then is given back to the caller, and what fits after all is
 * still taken, until no further block fits. Nothing is put out that is longer than the target, but for a first block that
 * is too large on its own.
 */
export class SpanChannelOut implements ChannelOut {
  private readonly config: ChannelConfig
  private readonly rollupConfig: RollupConfig
  private readonly expected: ExpectedCompression
  private readonly compression: SpanCompression
  private blocks: BatcherBlock[] = []
  /** Of `blocks`. */
  private blockBytes = 0
  /** Spans that take no more blocks. */
  private ended: Uint8Array[] = []
  private encoder: SpanBatchEncoder
  /** How long the first `blockBytes` of blocks are thought or known to be when they are compressed. */
  private known = { blockBytes: 0, bytes: SPAN_BYTES }
  /** Compressed bytes that each byte of blocks adds to that. */
  private growth: number
  /** Of the same, what the quick compressor made of them. */
  private quick = { blockBytes: 0, bytes: 0 }
  /** Compressed bytes for each byte of that, as they turned out in this channel. */
  private besideQuick: number | undefined
  /** All blocks; undefined when there are others by now. */
  private compressed: Compressor | undefined
  /** What is compressed of all blocks; undefined when there are others by now. */
  private encoded: Uint8Array | undefined
  /** How often blocks were given back. */
  private returns = 0
  private isClosed = false
  private closedInputBytes = 0

  constructor(
    config: ChannelConfig,
    rollupConfig: RollupConfig,
    expected: ExpectedCompression = { ratio: 1, besideQuick: undefined },
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
        const notWorth = this.expected.besideQuick === undefined ? NOT_WORTH_AT_FIRST : NOT_WORTH
        const returned = await this.compress()
        if (returned > 0 || this.mayPass(block) || this.leftBytes < notWorth * this.config.targetOutputBytes)
          return { added: false, full: 'compressor', returned }
      }
    }
    this.push(block)
    if (this.blocks.length > 1 || !this.mayPass()) return { added: true }
    await this.compress()
    return this.leftBytes <= 0 ? { added: true, full: 'compressor' } : { added: true }
  }

  async close(): Promise<number> {
    const unfit = this.blockBytes > this.config.targetOutputBytes ? await this.estimate() : 0
    const returned = unfit + (await this.compress())
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
    const { targetOutputBytes } = this.config
    const isFine = this.growth * (this.blockBytes / this.blocks.length) < SMALL_BLOCK * targetOutputBytes
    return isFine ? (1 - CAUTION) * targetOutputBytes : targetOutputBytes
  }

  /** Whether the channel, with this block, is thought to be longer than it should be. */
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
    if (this.encoder.blockCount === 0) return
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

  /** What is compressed: all spans, the open one, too. */
  private get input(): Uint8Array {
    if (this.encoded === undefined) {
      const open = this.encoder.blockCount === 0 ? [] : [encodeRlp(this.encoder.encode())]
      const [first = EMPTY_BYTES, ...others] = [...this.ended, ...open]
      this.encoded = others.length === 0 ? first : concatBytes(first, ...others)
    }
    return this.encoded
  }

  /** Estimates how long the blocks become, and takes off the newest until they are thought to fit. Their number. */
  private async estimate(): Promise<number> {
    const besideQuick =
      this.besideQuick ?? this.expected.besideQuick ?? BESIDE_QUICK_AT_FIRST[this.config.algorithm.kind]
    let unfit = 0
    while (this.known.blockBytes !== this.blockBytes) {
      const { blockBytes } = this
      const bytes = await this.compression.quickLength(this.input)
      this.quick = { blockBytes, bytes }
      this.note(besideQuick * bytes)
      unfit += this.takeOff(this.known.bytes - this.aimedBytes)
    }
    return unfit
  }

  /** Compresses all blocks but those, the newest, that prove not to fit. Their number. */
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

  /** `bytes` is how long the present blocks are. */
  private note(bytes: number): void {
    const { known, blockBytes } = this
    const step = blockBytes - known.blockBytes
    if (Math.abs(step) > FEW * blockBytes) this.growth = (bytes - known.bytes) / step
    this.known = { blockBytes, bytes }
  }

  private learn(bytes: number): void {
    const { blockBytes, quick, expected } = this
    this.note(bytes)
    expected.ratio = bytes / blockBytes
    if (Math.abs(quick.blockBytes - blockBytes) > FEW * blockBytes) return
    const seen = bytes / blockBytes / (quick.bytes / quick.blockBytes)
    this.besideQuick = seen
    const { besideQuick = seen } = expected
    // What differs is chance in part.
    expected.besideQuick = (besideQuick + seen) / 2
  }

  /** Takes off the newest blocks, so many that the channel is thought to become shorter by `bytes`. Their number. */
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
    // One block is not worth another look.
    if (count === 1 && takenBytes <= FEW * this.blockBytes)
      this.known = { blockBytes: this.blockBytes, bytes: this.known.bytes - growth * takenBytes }
    return count
  }
}

/** A measure of a block's part in a channel, before compression. */
function bytesOf({ transactions }: BatcherBlock): number {
  return transactions.reduce((sum, { length }) => sum + length, BLOCK_BYTES)
}
