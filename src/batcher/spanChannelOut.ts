import { EMPTY_BYTES } from '../lib/bytes.ts'
import { encodeRlp } from '../lib/rlp.ts'
import { maxRlpBytesPerChannel, SpanBatchEncoder } from '../rollup/protocol/index.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { AddBlockOutcome, ChannelOut } from './channelOut.ts'
import { lengthBehind } from './compress/algorithm.ts'
import { StreamCompressor } from './compress/streamCompressor.ts'
import type { BatcherBlock } from './l2Block.ts'

/** What compression is thought to do; what one channel learns serves the next. */
export interface ExpectedRatio {
  /** Compressed bytes for each byte of input. */
  ratio: number
}

/** The compressor, and what it works with; tests count what goes through it. */
export interface SpanCompression {
  createStream: () => StreamCompressor
  lengthBehind: typeof lengthBehind
}

/** What ending a flushed stream adds: a last block and a check sum. */
const CLOSE_BYTES = 9
/** What a span has beside its blocks, compressed: prefix, RLP header, and the flush behind it. */
const SPAN_BYTES = 120
/**
 * A channel this full, as a share of the target, counts as full: the rest is not worth another span, whose blocks compress a
 * little worse apart from the others. What is left of a blob is paid for, what is left of a transaction is not.
 */
const FULL_SHARE = { blobs: 0.998, calldata: 0.95 }
/** A span is ended where it is thought to take this share of what is left: blocks differ. */
const AIMED_SHARE = 0.975
/** A span of at most this share of the target is tried by itself before it goes into the stream. */
const TRIED_SHARE = 0.25
/** Input of less than this share of the target says nothing about how more will compress. */
const LEARNING_SHARE = 0.1
/** A span is ended here, however well its data may compress: encoding it holds the event loop. */
const MAX_SPAN_BYTES = 4_000_000
/** No transaction grows by more when it goes into a span: its signature may have leading zeros. */
const MAX_TX_GROWTH_BYTES = 70

interface Span {
  blocks: BatcherBlock[]
  encoded: Uint8Array
  /** The stream was flushed behind it. */
  isFlushed: boolean
}

/**
 * Span batches: all blocks of a span are encoded together, column by column, so how long the channel is shows only when a
 * span is ended and compressed. The first span takes as much of the target as it is thought to with safety; what it left
 * is known then, and is filled with a shorter span, and so on, all in one stream: no byte is compressed twice. A span that
 * did not fit after all is taken out again, the only case that begins anew, and its last blocks go back to the caller.
 * Nothing is ever put out that is longer than the target, but for a first block that is too large on its own.
 */
export class SpanChannelOut implements ChannelOut {
  private readonly config: ChannelConfig
  private readonly rollupConfig: RollupConfig
  private readonly expected: ExpectedRatio
  private readonly compression: SpanCompression
  private stream: StreamCompressor
  /** In the stream. */
  private spans: Span[] = []
  private encodedBytes = 0
  /** How many of the spans were in the stream when it was last measured, and how long it was. */
  private measured = { spans: 0, bytes: 0, encodedBytes: 0 }
  /** Blocks of the span that is not in the stream yet. */
  private open: BatcherBlock[] = []
  private encoder: SpanBatchEncoder
  private isClosed = false
  /** How often it was begun anew. */
  private beginnings = 0

  constructor(
    config: ChannelConfig,
    rollupConfig: RollupConfig,
    expected: ExpectedRatio = { ratio: 1 },
    compression: SpanCompression = {
      createStream: () => new StreamCompressor(config.algorithm),
      lengthBehind,
    },
  ) {
    this.config = config
    this.rollupConfig = rollupConfig
    this.expected = expected
    this.compression = compression
    this.stream = compression.createStream()
    this.encoder = new SpanBatchEncoder(rollupConfig)
  }

  get inputBytes(): number {
    return this.encodedBytes + this.openBytes
  }

  get readyBytes(): number {
    return this.isClosed ? this.stream.readyBytes : 0
  }

  async addBlock(block: BatcherBlock): Promise<AddBlockOutcome> {
    const maxBytes = block.rawSizeBytes + MAX_TX_GROWTH_BYTES * block.transactions.length
    if (this.inputBytes + SPAN_BYTES + maxBytes > maxRlpBytesPerChannel(this.rollupConfig, block.timestamp)) {
      if (this.blockCount > 0) return { added: false, full: 'rlpLimit' }
    }
    if (this.mayPass(block.rawSizeBytes) || this.openBytes >= MAX_SPAN_BYTES) {
      const before = this.measured.encodedBytes
      const returned = await this.measure()
      // What the estimate was wrong about it has learned; but where nothing more fits, or that was begun anew, it ends.
      const goesOn = this.measured.encodedBytes > before && this.beginnings <= 1
      if (returned > 0) return { added: false, returned, ...(goesOn ? {} : { full: 'compressor' }) }
      const isTooLong = this.blockCount > 0 && this.mayPass(block.rawSizeBytes) && !(await this.fits(block))
      if (this.isFull || isTooLong) return { added: false, full: 'compressor' }
    }
    await this.push(block)
    if (this.blockCount > 1 || !this.mayPass(0)) return { added: true }
    await this.measure()
    return this.isFull ? { added: true, full: 'compressor' } : { added: true }
  }

  async close(): Promise<number> {
    const returned = await this.measure()
    await this.stream.end()
    this.isClosed = true
    this.spans = []
    return returned
  }

  read(maxBytes: number): Uint8Array {
    return this.readyBytes === 0 ? EMPTY_BYTES : this.stream.read(maxBytes)
  }

  destroy(): void {
    this.stream.destroy()
    this.spans = []
    this.open = []
  }

  private get openBytes(): number {
    return this.open.length === 0 ? 0 : this.encoder.bytes
  }

  private get blockCount(): number {
    return this.open.length + this.spans.reduce((sum, { blocks }) => sum + blocks.length, 0)
  }

  private get isFull(): boolean {
    const { useBlobs, targetOutputBytes } = this.config
    return this.measured.bytes >= FULL_SHARE[useBlobs ? 'blobs' : 'calldata'] * targetOutputBytes
  }

  private get leftBytes(): number {
    return this.config.targetOutputBytes - this.measured.bytes - CLOSE_BYTES
  }

  /** Whether the channel is thought to come too near to its target with so many bytes more. */
  private mayPass(bytes: number): boolean {
    const added = this.inputBytes - this.measured.encodedBytes + bytes
    return SPAN_BYTES + this.expected.ratio * added > AIMED_SHARE * this.leftBytes
  }

  private async push(block: BatcherBlock): Promise<void> {
    this.encoder.add(spanBlock(block))
    this.open.push(block)
    if (this.open.length === this.config.maxBlocksPerSpanBatch) await this.endSpan()
  }

  /** Puts the open span into the stream. */
  private async endSpan(): Promise<void> {
    if (this.open.length === 0) return
    const span = { blocks: this.open, encoded: encodeRlp(this.encoder.encode()), isFlushed: false }
    this.reopen([])
    await this.write(span)
  }

  private async write(span: Span): Promise<void> {
    this.spans.push(span)
    this.encodedBytes += span.encoded.length
    await this.stream.write(span.encoded)
    if (span.isFlushed) await this.stream.flush()
  }

  /** All that was taken goes into the stream and through it. */
  private async flush(): Promise<void> {
    await this.endSpan()
    const newest = this.spans.at(-1)
    if (newest === undefined || newest.isFlushed) return
    newest.isFlushed = true
    await this.stream.flush()
  }

  private reopen(blocks: readonly BatcherBlock[]): void {
    this.encoder = new SpanBatchEncoder(this.rollupConfig)
    this.open = [...blocks]
    for (const block of blocks) this.encoder.add(spanBlock(block))
  }

  /** Compresses all that was taken and learns how long it is. Resolves with the number of blocks that did not fit. */
  private async measure(): Promise<number> {
    const cut = await this.cutToFit()
    await this.flush()
    const passed = this.stream.length - this.measured.bytes > this.leftBytes && this.blockCount > 1
    if (passed) return cut + (await this.takeOut())
    this.learn()
    return cut
  }

  private learn(): void {
    const { encodedBytes, stream } = this
    const input = encodedBytes - this.measured.encodedBytes
    if (input >= LEARNING_SHARE * this.config.targetOutputBytes)
      this.expected.ratio = (stream.length - this.measured.bytes) / input
    this.measured = { spans: this.spans.length, bytes: stream.length, encodedBytes }
  }

  private lengthBehind(encoder: SpanBatchEncoder): Promise<number> {
    return this.compression.lengthBehind(this.spans.at(-1)?.encoded ?? EMPTY_BYTES, encoder.encode())
  }

  private async fits(block: BatcherBlock): Promise<boolean> {
    const encoder = new SpanBatchEncoder(this.rollupConfig)
    encoder.add(spanBlock(block))
    return (await this.lengthBehind(encoder)) + SPAN_BYTES <= this.leftBytes
  }

  /** A short span costs little to try: blocks are taken off its end until it fits. */
  private async cutToFit(): Promise<number> {
    const { leftBytes } = this
    if (this.measured.spans === 0 || this.openBytes <= leftBytes - SPAN_BYTES) return 0
    if (this.expected.ratio * this.openBytes > TRIED_SHARE * this.config.targetOutputBytes) return 0
    const before = this.open.length
    while (this.open.length > 0) {
      const length = await this.lengthBehind(this.encoder)
      if (length + SPAN_BYTES <= leftBytes) break
      const share = (AIMED_SHARE * (leftBytes - SPAN_BYTES)) / length
      this.reopen(this.open.slice(0, Math.max(0, Math.min(this.open.length - 1, Math.floor(share * this.open.length)))))
    }
    return before - this.open.length
  }

  /** Begins anew with fewer blocks behind what was known to fit, until they fit too. The number of blocks left out. */
  private async takeOut(): Promise<number> {
    const before = this.blockCount
    const ratio = (this.stream.length - this.measured.bytes) / (this.encodedBytes - this.measured.encodedBytes)
    this.beginnings++
    const fitting = this.spans.slice(0, this.measured.spans)
    let rest = this.spans.slice(this.measured.spans).flatMap(({ blocks }) => blocks)
    for (;;) {
      const share = (AIMED_SHARE * this.leftBytes) / (this.stream.length - this.measured.bytes)
      const count = Math.max(fitting.length === 0 ? 1 : 0, Math.min(rest.length - 1, Math.floor(share * rest.length)))
      rest = rest.slice(0, count)
      this.stream.destroy()
      this.stream = this.compression.createStream()
      this.spans = []
      this.encodedBytes = 0
      for (const span of fitting) await this.write(span)
      for (const block of rest) await this.push(block)
      await this.flush()
      if (this.blockCount <= 1 || rest.length === 0 || this.stream.length - this.measured.bytes <= this.leftBytes) break
    }
    this.learn()
    this.expected.ratio = ratio
    return before - this.blockCount
  }
}

function spanBlock(block: BatcherBlock) {
  return {
    parentHash: block.parentHash,
    epochNumber: block.l1Origin.number,
    epochHash: block.l1Origin.hash,
    timestamp: block.timestamp,
    sequenceNumber: block.sequenceNumber,
    transactions: block.transactions,
  }
}
