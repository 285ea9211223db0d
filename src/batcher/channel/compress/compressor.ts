import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { pragueCalldataGas } from '../../txmgr/fees.ts'
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
 * as hashes and signatures between few words, quality 9 makes less. It is tried too, and used where that saves something.
 */
export function createCompressor(algorithm: CompressionAlgorithm): Compressor {
  if (algorithm.kind === 'zlib' || algorithm.quality <= SIMPLE_BROTLI_QUALITY) return new StreamCompressor(algorithm)
  return new EitherCompressor(algorithm, { kind: 'brotli', quality: SIMPLE_BROTLI_QUALITY })
}

/** Compresses in two ways; the second counts where its output is not longer, and not dearer as calldata either. */
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
    const [first, second] = [this.first, this.second].map((stream) => stream.read(Number.POSITIVE_INFINITY))
    if (first === undefined || second === undefined) return
    // Glamsterdam charges by length alone. Before it a zero costs a quarter of another byte.
    const saves = second.length <= first.length && pragueCalldataGas(second) <= pragueCalldataGas(first)
    this.output = saves ? second : first
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
