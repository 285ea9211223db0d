import type { CompressionAlgorithm } from './algorithm.ts'
import { type Compressor, createCompressor } from './compressor.ts'
import { StreamCompressor } from './streamCompressor.ts'

export const COMPRESSOR_KINDS = ['ratio', 'shadow', 'none'] as const
export type CompressorKind = (typeof COMPRESSOR_KINDS)[number]

export interface ChannelCompressorOptions {
  kind: CompressorKind
  algorithm: CompressionAlgorithm
  /** Target output bytes of a channel. `shadow` exceeds it only if the first block alone is larger. */
  targetOutputBytes: number
  /** Assumed output bytes for each input byte. Only `ratio` uses it. */
  approxComprRatio: number
}

/** Decides how much input one channel accepts. */
export interface ChannelCompressor {
  /**
   * False: refused, because the output would exceed the target. Nothing was written. An accepted write may make the
   * compressor full.
   */
  write(data: Uint8Array): Promise<boolean>
  readonly isFull: boolean
  /** Output bytes that can be read now. */
  readonly readyBytes: number
  read(maxBytes: number): Uint8Array
  /** Ends the stream: the rest of the output becomes ready. */
  close(): Promise<void>
  destroy(): void
}

export function createChannelCompressor(options: ChannelCompressorOptions): ChannelCompressor {
  switch (options.kind) {
    case 'shadow':
      return new ShadowCompressor(options)
    case 'ratio':
      return new RatioCompressor(options)
    case 'none':
      return new NonCompressor(options)
  }
}

/** Subclasses decide when the channel is full. */
abstract class StreamingCompressor<Stream extends Compressor> implements ChannelCompressor {
  protected readonly stream: Stream

  constructor(stream: Stream) {
    this.stream = stream
  }

  abstract readonly isFull: boolean
  abstract write(data: Uint8Array): Promise<boolean>

  get readyBytes(): number {
    return this.stream.readyBytes
  }

  read(maxBytes: number): Uint8Array {
    return this.stream.read(maxBytes)
  }

  close(): Promise<void> {
    return this.stream.end()
  }

  destroy(): void {
    this.stream.destroy()
  }
}

/** Bytes that a stream may hold back before its first flush. op-batcher's initial bound. */
const SAFE_OVERHEAD_BYTES = 51
/** Bytes added by closing a flushed zlib stream. */
const CLOSE_OVERHEAD_BYTES = 9

/**
 * Flushes a second compressor to learn the output's length, so that the real one need not be flushed: each flush adds
 * bytes. No flush is needed while an upper bound of the length is below the target.
 */
class ShadowCompressor extends StreamingCompressor<Compressor> {
  private readonly targetOutputBytes: number
  private readonly shadow: StreamCompressor
  private bound = SAFE_OVERHEAD_BYTES
  private written = false
  isFull = false

  constructor({ algorithm, targetOutputBytes }: ChannelCompressorOptions) {
    super(createCompressor(algorithm))
    this.targetOutputBytes = targetOutputBytes
    this.shadow = new StreamCompressor(algorithm)
  }

  async write(data: Uint8Array): Promise<boolean> {
    if (this.isFull) return false
    await this.shadow.write(data)
    let bound = this.bound + data.length
    if (bound > this.targetOutputBytes) {
      await this.shadow.flush()
      bound = this.shadow.length + CLOSE_OVERHEAD_BYTES
      if (bound > this.targetOutputBytes) {
        this.isFull = true
        // If the first block alone is too large, it is sent anyway.
        if (this.written) return false
      }
    }
    this.bound = bound
    this.written = true
    // Only the length of the shadow's output matters, so the output is discarded.
    this.shadow.read(this.shadow.readyBytes)
    await this.stream.write(data)
    return true
  }

  override close(): Promise<void> {
    this.shadow.destroy()
    return super.close()
  }

  override destroy(): void {
    this.shadow.destroy()
    super.destroy()
  }
}

/** Full once the input, multiplied by an assumed ratio, reaches the target. The output may exceed the target. */
class RatioCompressor extends StreamingCompressor<Compressor> {
  private readonly inputThresholdBytes: number
  private inputBytes = 0

  constructor(options: ChannelCompressorOptions) {
    super(createCompressor(options.algorithm))
    this.inputThresholdBytes = Math.floor(options.targetOutputBytes / options.approxComprRatio)
  }

  get isFull(): boolean {
    return this.inputBytes >= this.inputThresholdBytes
  }

  async write(data: Uint8Array): Promise<boolean> {
    if (this.isFull) return false
    this.inputBytes += data.length
    await this.stream.write(data)
    return true
  }
}

/**
 * Stores data uncompressed, in a zlib stream that is flushed after each write. Full once the output exceeds the target.
 */
class NonCompressor extends StreamingCompressor<StreamCompressor> {
  private readonly targetOutputBytes: number

  constructor(options: ChannelCompressorOptions) {
    super(new StreamCompressor({ kind: 'zlib' }, { store: true }))
    this.targetOutputBytes = options.targetOutputBytes
  }

  get isFull(): boolean {
    return this.stream.length > this.targetOutputBytes
  }

  async write(data: Uint8Array): Promise<boolean> {
    if (this.isFull) return false
    await this.stream.write(data)
    await this.stream.flush()
    return true
  }
}
