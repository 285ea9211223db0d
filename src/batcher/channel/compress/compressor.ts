import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import type { CompressionAlgorithm } from './algorithm.ts'
import { StreamCompressor } from './streamCompressor.ts'

/** Compresses a channel in parts. Calls must not overlap. */
export interface Compressor {
  /** Output bytes that were not read yet. They do not change any more. */
  readonly readyBytes: number
  write(data: Uint8Array): Promise<void>
  /** Makes the rest of the output ready. Nothing may be written afterwards. */
  end(): Promise<void>
  /** Removes up to `maxBytes` of output from the front. */
  read(maxBytes: number): Uint8Array
  /** Frees native memory. Has no effect after `end`. */
  destroy(): void
}

/** The highest brotli quality with the simple algorithm. It takes a tenth of the time of qualities 10 and 11. */
const SIMPLE_BROTLI_QUALITY = 9

/**
 * Brotli's qualities 10 and 11 guess the cost of data and search by that guess. On data with few repetitions, such as
 * hashes and signatures between few words, quality 9 gives shorter output. So quality 9 is tried too, and used if it
 * saves bytes.
 */
export function createCompressor(algorithm: CompressionAlgorithm): Compressor {
  if (algorithm.kind === 'zlib' || algorithm.quality <= SIMPLE_BROTLI_QUALITY) return new StreamCompressor(algorithm)
  return new EitherCompressor(algorithm, { kind: 'brotli', quality: SIMPLE_BROTLI_QUALITY })
}

/** Compresses with two algorithms. The second output is used if it is shorter. */
class EitherCompressor implements Compressor {
  private readonly first: StreamCompressor
  private readonly second: StreamCompressor
  private output: Uint8Array = EMPTY_BYTES

  constructor(first: CompressionAlgorithm, second: CompressionAlgorithm) {
    this.first = new StreamCompressor(first)
    this.second = new StreamCompressor(second)
  }

  get readyBytes(): number {
    return this.output.length
  }

  async write(data: Uint8Array): Promise<void> {
    await Promise.all([this.first.write(data), this.second.write(data)])
  }

  async end(): Promise<void> {
    await Promise.all([this.first.end(), this.second.end()])
    const first = this.first.read(Number.POSITIVE_INFINITY)
    const second = this.second.read(Number.POSITIVE_INFINITY)
    this.output = second.length < first.length ? second : first
  }

  read(maxBytes: number): Uint8Array {
    const taken = this.output.subarray(0, maxBytes)
    this.output = this.output.subarray(taken.length)
    return taken
  }

  destroy(): void {
    this.first.destroy()
    this.second.destroy()
  }
}
