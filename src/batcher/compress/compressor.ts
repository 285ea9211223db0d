import { EMPTY_BYTES } from '../../lib/bytes.ts'
import type { CompressionAlgorithm } from './algorithm.ts'
import { StreamCompressor } from './streamCompressor.ts'

/** Takes a channel piece by piece. Calls must not overlap. */
export interface Compressor {
  /** Bytes of output that were not yet read, and will not change. */
  readonly readyBytes: number
  write(data: Uint8Array): Promise<void>
  /** The rest of the output becomes ready; nothing may be written afterwards. */
  end(): Promise<void>
  /** Takes up to `maxBytes` of output from the front. */
  read(maxBytes: number): Uint8Array
  /** Frees what is native. Harmless after `end`. */
  destroy(): void
}

/** The highest quality of brotli that takes a simple way, and a tenth of the time of those above it. */
const SIMPLE_BROTLI_QUALITY = 9

/**
 * Brotli's qualities 10 and 11 guess what data will cost and then search by that: of data with little to find in them, such
 * as hashes and signatures between few words, quality 9 makes less. It is tried too, and the shorter one is used.
 */
export function createCompressor(algorithm: CompressionAlgorithm): Compressor {
  if (algorithm.kind === 'zlib' || algorithm.quality <= SIMPLE_BROTLI_QUALITY) return new StreamCompressor(algorithm)
  return new ShortestCompressor([algorithm, { kind: 'brotli', quality: SIMPLE_BROTLI_QUALITY }])
}

/** Compresses in several ways, and puts out what proves shortest in the end. */
class ShortestCompressor implements Compressor {
  private readonly candidates: readonly StreamCompressor[]
  private shortest: StreamCompressor | undefined

  constructor(algorithms: readonly CompressionAlgorithm[]) {
    this.candidates = algorithms.map((algorithm) => new StreamCompressor(algorithm))
  }

  get readyBytes(): number {
    return this.shortest?.readyBytes ?? 0
  }

  async write(data: Uint8Array): Promise<void> {
    await Promise.all(this.candidates.map((candidate) => candidate.write(data)))
  }

  async end(): Promise<void> {
    await Promise.all(this.candidates.map((candidate) => candidate.end()))
    this.shortest = this.candidates.toSorted((a, b) => a.length - b.length)[0]
  }

  read(maxBytes: number): Uint8Array {
    return this.shortest?.read(maxBytes) ?? EMPTY_BYTES
  }

  destroy(): void {
    for (const candidate of this.candidates) candidate.destroy()
  }
}
