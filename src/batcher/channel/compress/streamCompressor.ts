import { type BrotliCompress, constants, createBrotliCompress, createDeflate, type Deflate } from 'node:zlib'
import { concatBytes } from '../../../lib/bytes.ts'
import { BROTLI_CHANNEL_VERSION, type CompressionAlgorithm } from './algorithm.ts'

/**
 * Size of an output chunk. Each chunk costs an iteration of the event loop. One chunk holds the data of a calldata
 * transaction or blob.
 */
const CHUNK_BYTES = 131_072

/**
 * A streaming compressor. It runs on libuv's threads, so the event loop stays free. Output can be read from the front
 * at any time, because written output never changes.
 */
export class StreamCompressor {
  private readonly stream: Deflate | BrotliCompress
  private chunks: Uint8Array[] = []
  private pendingBytes = 0
  private totalBytes = 0
  private failure: Error | undefined
  private readonly flushKind: number

  /** `store` writes a zlib stream without compression. */
  constructor(algorithm: CompressionAlgorithm, options: { store?: boolean } = {}) {
    if (algorithm.kind === 'zlib') {
      this.flushKind = constants.Z_SYNC_FLUSH
      this.stream = createDeflate({
        chunkSize: CHUNK_BYTES,
        memLevel: constants.Z_MAX_MEMLEVEL,
        level: options.store === true ? 0 : constants.Z_BEST_COMPRESSION,
      })
    } else {
      this.flushKind = constants.BROTLI_OPERATION_FLUSH
      this.stream = createBrotliCompress({
        chunkSize: CHUNK_BYTES,
        params: { [constants.BROTLI_PARAM_QUALITY]: algorithm.quality },
      })
      this.collect(Uint8Array.of(BROTLI_CHANNEL_VERSION))
    }
    this.stream.on('data', (chunk: Buffer) => this.collect(chunk))
    this.stream.on('error', (error) => {
      this.failure = error
    })
  }

  /** All output bytes so far, read or not. */
  get length(): number {
    return this.totalBytes
  }

  get readyBytes(): number {
    return this.pendingBytes
  }

  write(data: Uint8Array): Promise<void> {
    return this.complete((done) => this.stream.write(data, (error) => done(error ?? undefined)))
  }

  /** Makes the output of all written data readable. */
  flush(): Promise<void> {
    return this.complete((done) => this.stream.flush(this.flushKind, () => done(undefined)))
  }

  /** Writes the end of the stream. Nothing may be written afterwards. */
  end(): Promise<void> {
    return this.complete((done) => {
      this.stream.once('end', () => done(undefined))
      this.stream.end()
    })
  }

  /** Removes up to `maxBytes` of output from the front. */
  read(maxBytes: number): Uint8Array {
    const all = concatBytes(...this.chunks)
    const taken = all.subarray(0, maxBytes)
    const rest = all.subarray(taken.length)
    this.chunks = [rest]
    this.pendingBytes = rest.length
    return taken
  }

  /** Frees native memory. Has no effect after `end`. */
  destroy(): void {
    this.stream.destroy()
  }

  private collect(chunk: Uint8Array): void {
    this.chunks.push(chunk)
    this.pendingBytes += chunk.length
    this.totalBytes += chunk.length
  }

  private complete(operation: (done: (error: Error | undefined) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const onError = (error: Error) => reject(error)
      if (this.failure !== undefined) return reject(this.failure)
      this.stream.once('error', onError)
      operation((error) => {
        this.stream.off('error', onError)
        if (error === undefined) resolve()
        else reject(error)
      })
    })
  }
}
