import { concatBytes, EMPTY_BYTES } from '../lib/bytes.ts'
import { encodeRlp } from '../lib/rlp.ts'
import { encodeSpanBatch, maxRlpBytesPerChannel } from '../rollup/protocol/index.ts'
import type { RollupConfig } from '../rollup/protocol/types.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { AddBlockOutcome, ChannelOut } from './channelOut.ts'
import { compressAll } from './compress/algorithm.ts'
import type { BatcherBlock } from './l2Block.ts'

/** What compression may add to data that do not compress: a header and a few bytes for each 16 kB. */
const COMPRESSION_SLACK_BYTES = 64

/**
 * Span batches: all blocks of a span are encoded together, so the output exists only once the channel is closed. To know
 * when it is full without compressing at every block, the last compressed length plus what was added since is taken as
 * an upper bound; only when that reaches the target is everything compressed anew.
 */
export class SpanChannelOut implements ChannelOut {
  private readonly config: ChannelConfig
  private readonly rollupConfig: RollupConfig
  /** RLP strings of the spans that are complete (`max-blocks-per-span-batch`). */
  private sealed: Uint8Array[] = []
  private span: BatcherBlock[] = []
  private blockCount = 0
  /** Upper bound of the RLP bytes of the present span. */
  private spanBytesBound = 0
  private sealedBytes = 0
  private compressedBytes = 0
  private addedSinceCompression = COMPRESSION_SLACK_BYTES
  private rlpBytes = 0
  private output: Uint8Array = EMPTY_BYTES

  constructor(config: ChannelConfig, rollupConfig: RollupConfig) {
    this.config = config
    this.rollupConfig = rollupConfig
  }

  get inputBytes(): number {
    return this.rlpBytes === 0 ? this.sealedBytes + this.spanBytesBound : this.rlpBytes
  }

  get readyBytes(): number {
    return this.output.length
  }

  async addBlock(block: BatcherBlock): Promise<AddBlockOutcome> {
    const limit = this.config.maxBlocksPerSpanBatch
    if (limit > 0 && this.span.length >= limit) this.sealSpan()
    const isFirst = this.blockCount === 0
    this.push(block)

    const rlpLimit = maxRlpBytesPerChannel(this.rollupConfig, block.timestamp)
    if (this.sealedBytes + this.spanBytesBound > rlpLimit && this.encode().length > rlpLimit) {
      this.pop(block)
      return { added: false, full: 'rlpLimit' }
    }
    if (this.compressedBytes + this.addedSinceCompression < this.config.targetOutputBytes) return { added: true }

    const previous = this.compressedBytes
    this.compressedBytes = (await compressAll(this.encode(), this.config.algorithm)).length
    if (this.compressedBytes < this.config.targetOutputBytes) {
      this.addedSinceCompression = COMPRESSION_SLACK_BYTES
      return { added: true }
    }
    // A first block that is too large on its own must still go out.
    if (isFirst || this.compressedBytes === this.config.targetOutputBytes) return { added: true, full: 'compressor' }
    this.pop(block)
    this.compressedBytes = previous
    return { added: false, full: 'compressor' }
  }

  async close(): Promise<void> {
    const encoded = this.encode()
    this.rlpBytes = encoded.length
    this.output = await compressAll(encoded, this.config.algorithm)
    this.span = []
    this.sealed = []
  }

  read(maxBytes: number): Uint8Array {
    const taken = this.output.subarray(0, maxBytes)
    this.output = this.output.subarray(taken.length)
    return taken
  }

  destroy(): void {
    this.span = []
    this.sealed = []
  }

  private push(block: BatcherBlock): void {
    this.span.push(block)
    this.blockCount++
    this.spanBytesBound += block.rawSizeBytes
    this.addedSinceCompression += block.rawSizeBytes
  }

  private pop(block: BatcherBlock): void {
    this.span.pop()
    this.blockCount--
    this.spanBytesBound -= block.rawSizeBytes
    this.addedSinceCompression -= block.rawSizeBytes
  }

  private sealSpan(): void {
    const encoded = this.encodeSpan()
    this.sealed.push(encoded)
    this.sealedBytes += encoded.length
    this.span = []
    this.spanBytesBound = 0
  }

  private encode(): Uint8Array {
    return this.span.length === 0 ? concatBytes(...this.sealed) : concatBytes(...this.sealed, this.encodeSpan())
  }

  private encodeSpan(): Uint8Array {
    const batches = this.span.map((block) => ({
      parentHash: block.parentHash,
      epochNumber: block.l1Origin.number,
      epochHash: block.l1Origin.hash,
      timestamp: block.timestamp,
      sequenceNumber: block.sequenceNumber,
      transactions: block.transactions,
    }))
    return encodeRlp(encodeSpanBatch(batches, this.rollupConfig))
  }
}
