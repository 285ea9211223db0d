import type { CompressionAlgorithm } from './algorithm.ts'
import { type Compressor, createCompressor } from './compressor.ts'
import { StreamCompressor } from './streamCompressor.ts'

export const COMPRESSOR_KINDS = ['ratio', 'shadow', 'none'] as const
export type CompressorKind = (typeof COMPRESSOR_KINDS)[number]

export interface ChannelCompressorOptions {
  kind: CompressorKind
  algorithm: CompressionAlgorithm
  /** Output bytes that a channel aims at and, with `shadow`, does not exceed by more than one block. */
  targetOutputBytes: number
  /** Output bytes an input byte is thought to give; `ratio` only. */
  approxComprRatio: number
}

/** Decides how much input goes into one channel. */
export interface ChannelCompressor {
  /** False: refused, because it would pass the target; nothing was written. Accepting may make the compressor full. */
  write(data: Uint8Array): Promise<boolean>
  readonly isFull: boolean
  /** Output that can be taken now. */
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

/** Bytes that a stream may still hold back before its first flush: op-batcher's starting bound. */
const SAFE_OVERHEAD_BYTES = 51
/** Bytes that closing a flushed zlib stream adds. */
const CLOSE_OVERHEAD_BYTES = 9

/**
 * A second compressor is flushed to learn how long the output would be, so that the real one need not be flushed
 * (which costs size). As long as an upper bound stays under the target no flush is needed at all.
 */
class ShadowCompressor implements ChannelCompressor {
  private readonly options: ChannelCompressorOptions
  private readonly real: Compressor
  private readonly shadow: StreamCompressor
  private bound = SAFE_OVERHEAD_BYTES
  private written = false
  private full = false

  constructor(options: ChannelCompressorOptions) {
    this.options = options
    this.real = createCompressor(options.algorithm)
    this.shadow = new StreamCompressor(options.algorithm)
  }

  get isFull(): boolean {
    return this.full
  }

  get readyBytes(): number {
    return this.real.readyBytes
  }

  async write(data: Uint8Array): Promise<boolean> {
    if (this.full) return false
    await this.shadow.write(data)
    let bound = this.bound + data.length
    if (bound > this.options.targetOutputBytes) {
      await this.shadow.flush()
      bound = this.shadow.length + CLOSE_OVERHEAD_BYTES
      if (bound > this.options.targetOutputBytes) {
        this.full = true
        // A first block that is too large on its own must still go out.
        if (this.written) return false
      }
    }
    this.bound = bound
    this.written = true
    // The shadow's output is only counted.
    this.shadow.read(this.shadow.readyBytes)
    await this.real.write(data)
    return true
  }

  read(maxBytes: number): Uint8Array {
    return this.real.read(maxBytes)
  }

  close(): Promise<void> {
    this.shadow.destroy()
    return this.real.end()
  }

  destroy(): void {
    this.shadow.destroy()
    this.real.destroy()
  }
}

/** Full once the input, times an assumed ratio, reaches the target; may overshoot. */
class RatioCompressor implements ChannelCompressor {
  private readonly inputThresholdBytes: number
  private readonly stream: Compressor
  private inputBytes = 0

  constructor(options: ChannelCompressorOptions) {
    this.inputThresholdBytes = Math.floor(options.targetOutputBytes / options.approxComprRatio)
    this.stream = createCompressor(options.algorithm)
  }

  get isFull(): boolean {
    return this.inputBytes >= this.inputThresholdBytes
  }

  get readyBytes(): number {
    return this.stream.readyBytes
  }

  async write(data: Uint8Array): Promise<boolean> {
    if (this.isFull) return false
    this.inputBytes += data.length
    await this.stream.write(data)
    return true
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

/** Stores without compressing, in a zlib stream that is flushed after each write; full when it is longer than the target. */
class NonCompressor implements ChannelCompressor {
  private readonly targetOutputBytes: number
  private readonly stream: StreamCompressor

  constructor(options: ChannelCompressorOptions) {
    this.targetOutputBytes = options.targetOutputBytes
    this.stream = new StreamCompressor({ kind: 'zlib' }, { store: true })
  }

  get isFull(): boolean {
    return this.stream.length > this.targetOutputBytes
  }

  get readyBytes(): number {
    return this.stream.readyBytes
  }

  async write(data: Uint8Array): Promise<boolean> {
    if (this.isFull) return false
    await this.stream.write(data)
    await this.stream.flush()
    return true
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
