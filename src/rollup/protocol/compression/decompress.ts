import {
  type BrotliDecompress,
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createInflate,
  type Inflate,
  inflateSync,
} from 'node:zlib'
import { DecodeError } from '../../../lib/errors.ts'
import { runYielding } from '../../../lib/slicedTask.ts'
import { brotliSteps, brotliWindowBytes } from './brotliSteps.ts'
import { type Decompressed, inflatePrefix } from './inflate.ts'

/**
 * First byte of channel data that are compressed with brotli (specs: fjord/derivation, "Brotli channel compression").
 */
export const BROTLI_VERSION = 1
/** Smaller data are decompressed synchronously, which takes a few milliseconds. Larger data use Node's thread pool. */
const MAX_INPUT_AT_ONCE = 2_000_000
const MAX_OUTPUT_AT_ONCE = { zlib: 4_000_000, brotli: 2_000_000 }
/** Longer output gets a buffer of the maximum length. */
const EXPECTED_BYTES = 16_000_000
const CHUNK_BYTES = 64 * 1024
const CHUNK_BYTES_AT_ONCE = 256 * 1024
/** Brotli streams may end without a last block. */
const finishFlush = constants.BROTLI_OPERATION_FLUSH

type Method = 'zlib' | 'brotli'

export interface ReadChannelOptions {
  /** Whether Fjord is active at the L1 time at which the channel is read. Fjord allows brotli. */
  fjord: boolean
  /** Maximum number of decompressed bytes. */
  maxRlpBytes: number
}

/**
 * Decompresses large data without holding the event loop. Rejects with DecodeError if op-node could not start
 * decompressing.
 */
export async function decompress(data: Uint8Array, { fjord, maxRlpBytes }: ReadChannelOptions): Promise<Decompressed> {
  const method = methodOf(data, fjord)
  const compressed = method === 'zlib' ? data : data.subarray(1)
  const output = decompressAtOnce(method, compressed, maxRlpBytes)
  if (output !== undefined) return { output }
  return method === 'zlib' ? inflateLater(compressed, maxRlpBytes) : brotliLater(compressed, maxRlpBytes)
}

function methodOf(data: Uint8Array, fjord: boolean): Method {
  const first = data[0]
  if (first === undefined) throw new DecodeError('channel: empty', { at: 0 })
  const method = first & 0x0f
  if (method === 8 || method === 15) return 'zlib'
  if (first !== BROTLI_VERSION)
    throw new DecodeError(
      `channel: compression byte is ${first}: neither zlib (8 or 15 in its low half) nor brotli (1)`,
      { at: 0 },
    )
  if (!fjord) throw new DecodeError('channel: brotli before Fjord', { at: 0 })
  return 'brotli'
}

/** Returns undefined if the stream is incomplete or corrupt, or too long to be decompressed synchronously. */
function decompressAtOnce(method: Method, data: Uint8Array, maxBytes: number): Uint8Array | undefined {
  if (data.length > MAX_INPUT_AT_ONCE) return undefined
  const maxOutputLength = Math.min(MAX_OUTPUT_AT_ONCE[method], maxBytes)
  const options = { maxOutputLength, chunkSize: CHUNK_BYTES_AT_ONCE }
  try {
    return plain(
      method === 'zlib' ? inflateSync(data, options) : brotliDecompressSync(data, { ...options, finishFlush }),
    )
  } catch {
    return undefined
  }
}

async function inflateLater(data: Uint8Array, maxBytes: number): Promise<Decompressed> {
  const { output, ending } = await collect(createInflate({ chunkSize: CHUNK_BYTES_AT_ONCE }), [data], maxBytes)
  if (ending === 'end') return { output }
  if (ending === 'limit') return { output, fault: 'output limit' }
  // On an error, the native decoder drops its last output.
  return runYielding(inflatePrefix(data, maxBytes))
}

/**
 * For corrupt or too long data, returns the output that op-node's decoder would have returned. That is everything up to
 * the limit. For a fault, it is the output of the earlier steps, and the complete windows of the faulty step.
 */
async function brotliLater(data: Uint8Array, maxBytes: number): Promise<Decompressed> {
  const ends = brotliSteps(data.length)
  const read = (end: number) => {
    const decoder = createBrotliDecompress({ chunkSize: CHUNK_BYTES, finishFlush })
    return collect(decoder, slicesOf(data, [...ends.filter((step) => step < end), end]), maxBytes)
  }
  const { output, ending, stepEnds } = await read(data.length)
  if (ending === 'end') return { output }
  if (ending === 'limit') return { output, fault: 'output limit' }
  const sound = ends[stepEnds.length - 1] ?? 0
  const given = stepEnds.at(-1) ?? 0
  const window = brotliWindowBytes(data)
  const before = output.subarray(0, given)
  const fault = 'brotli stream is corrupt'
  // The decoder returns a window as soon as it is full, even in the step with the fault.
  if (output.length === given && window - (given % window) > CHUNK_BYTES) return { output: before, fault }
  let last = sound
  for (let high = (ends[stepEnds.length] ?? sound) + 1; high - last > 1; ) {
    const middle = (last + high) >>> 1
    const probe = await read(middle)
    if (probe.ending === 'fault') high = middle
    else last = middle
  }
  // The output before the step with the fault, extended by the windows that this step completed.
  const { output: reached } = await read(last)
  const whole = reached.length - (reached.length % window)
  return { output: whole > given ? reached.subarray(0, whole) : before, fault }
}

function slicesOf(data: Uint8Array, ends: readonly number[]): Uint8Array[] {
  return ends.map((end, i) => data.subarray(ends[i - 1] ?? 0, end))
}

interface Collected {
  output: Uint8Array
  ending: 'end' | 'limit' | 'fault'
  /** Length of the output after each completely read input. */
  stepEnds: number[]
}

/** Feeds the inputs to a decoder until it ends, fails, or has produced `maxBytes`. */
async function collect(
  decoder: Inflate | BrotliDecompress,
  inputs: readonly Uint8Array[],
  maxBytes: number,
): Promise<Collected> {
  // The operating system allocates this memory only when it is written, but the garbage collector counts all of it.
  let output = plain(Buffer.allocUnsafeSlow(Math.min(maxBytes, EXPECTED_BYTES)))
  let length = 0
  const stepEnds: number[] = []
  const { promise, resolve } = Promise.withResolvers<Collected['ending']>()
  decoder.on('data', (piece: Uint8Array) => {
    const part = piece.subarray(0, maxBytes - length)
    if (length + part.length > output.length) {
      const whole = plain(Buffer.allocUnsafeSlow(maxBytes))
      whole.set(output.subarray(0, length))
      output = whole
    }
    output.set(part, length)
    length += part.length
    if (length === maxBytes) resolve('limit')
  })
  decoder.on('end', () => resolve('end'))
  decoder.on('error', () => resolve('fault'))
  const feed = (index: number): void => {
    const input = inputs[index]
    if (input === undefined) {
      decoder.end()
      return
    }
    decoder.write(input, (error) => {
      if (error === null || error === undefined) next(index)
    })
  }
  // Waits until the output is read: an error in the next input would drop pending output.
  const next = (index: number): void => {
    if (decoder.readableLength > 0) {
      setImmediate(next, index)
      return
    }
    stepEnds.push(length)
    feed(index + 1)
  }
  feed(0)
  const ending = await promise
  decoder.destroy()
  return { output: output.subarray(0, length), ending, stepEnds }
}

/** Converts a Buffer to a Uint8Array, because Buffer's `slice` does not copy. */
function plain(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}
