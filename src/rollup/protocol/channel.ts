import { brotliCompressSync, brotliDecompressSync, constants, deflateSync, inflateSync } from 'node:zlib'
import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { readRlpHeader } from '../../lib/rlp.ts'
import { inflatePrefix } from './inflate.ts'

/** Leads channel data that are compressed with brotli (specs: fjord/derivation, "Brotli channel compression"). */
const BROTLI_VERSION = 1
/** The reference node's decoder takes in so much at a time; an error loses what a step has given so far. */
const BROTLI_STEP_BYTES = 32 * 1024
/** RFC 7932, 9.2: MLEN is at most 2^24. */
const MAX_BROTLI_META_BLOCK_BYTES = 2 ** 24
/** Larger steps than node's 16 kB: channels grow to megabytes. */
const CHUNK_BYTES = 128 * 1024

export const COMPRESSION_ALGORITHMS = ['zlib', 'brotli-9', 'brotli-10', 'brotli-11'] as const
export type CompressionAlgorithm = (typeof COMPRESSION_ALGORITHMS)[number]

export interface ReadChannelOptions {
  /** Whether Fjord is active at the L1 time the channel is read at: allows brotli. */
  fjord: boolean
  /** No more than this much decompressed data is read. */
  maxRlpBytes: number
}

/**
 * The batches of a complete channel, each as `batch type ‖ content`, ready for `decodeBatch`. Where decompression or RLP
 * fails the batches before the fault come first, then DecodeError is thrown: the rest of the channel is lost. The data
 * are decompressed when the first batch is asked for; batches are views into the result.
 */
export function* readChannelBatches(
  data: Uint8Array,
  opts: ReadChannelOptions,
): Generator<Uint8Array, void, undefined> {
  const { output, fault } = decompress(data, opts)
  let offset = 0
  while (offset < output.length) {
    const { isList, start, end } = readItemHeader(output, offset, fault)
    if (isList) throw new DecodeError('channel: expected a byte string, found a list')
    const batch = output.subarray(start, end)
    // Without a known type the reference node cannot tell what the content is and gives up the channel.
    if (batch[0] !== 0 && batch[0] !== 1) throw new DecodeError(`channel: batch type ${batch[0]} is not known`)
    yield batch
    offset = end
  }
  if (fault !== undefined) throw new DecodeError(`channel: ${fault}`)
}

/** Channel data from the concatenation of RLP strings that are its batches. */
export function compressChannel(data: Uint8Array, algorithm: CompressionAlgorithm): Uint8Array {
  if (algorithm === 'zlib') return plain(deflateSync(data, { level: constants.Z_BEST_COMPRESSION }))
  const quality = Number(algorithm.slice('brotli-'.length))
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: data.length }
  return concatBytes(Uint8Array.of(BROTLI_VERSION), brotliCompressSync(data, { params }))
}

function readItemHeader(output: Uint8Array, offset: number, fault: string | undefined) {
  try {
    return readRlpHeader(output, offset)
  } catch (cause) {
    throw new DecodeError(`channel: ${fault ?? 'batch is no RLP string'}`, { cause })
  }
}

interface Decompressed {
  output: Uint8Array
  /** Why the output is not all that the data promise. */
  fault?: string
}

function decompress(data: Uint8Array, { fjord, maxRlpBytes }: ReadChannelOptions): Decompressed {
  const first = data[0]
  if (first === undefined) throw new DecodeError('channel: empty')
  const method = first & 0x0f
  if (method === 8 || method === 15) return inflate(data, maxRlpBytes)
  if (first !== BROTLI_VERSION) throw new DecodeError(`channel: compression ${first} is not known`)
  if (!fjord) throw new DecodeError('channel: brotli before Fjord')
  return decompressBrotli(data.subarray(1), maxRlpBytes)
}

function inflate(data: Uint8Array, maxBytes: number): Decompressed {
  try {
    // Z_SYNC_FLUSH at the end gives what there is of truncated data instead of throwing.
    const finishFlush = constants.Z_SYNC_FLUSH
    return { output: plain(inflateSync(data, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES, finishFlush })) }
  } catch {
    return inflatePrefix(data, maxBytes)
  }
}

/**
 * The native decoder gives nothing for data that are corrupt or too long. What counts then is what the reference node's
 * decoder would have handed on: everything up to the limit, or all that the steps before the corrupt one gave.
 */
function decompressBrotli(data: Uint8Array, maxBytes: number): Decompressed {
  const whole = tryBrotli(data, maxBytes)
  if (whole instanceof Uint8Array) return { output: whole }
  if (whole === 'too long') {
    // The first part that reaches the limit goes beyond it by no more than one meta-block.
    const reaches = (end: number) => {
      const output = tryBrotli(data.subarray(0, end), maxBytes)
      return !(output instanceof Uint8Array) || output.length >= maxBytes
    }
    const end = firstWhere(data.length, reaches)
    const output = tryBrotli(data.subarray(0, end), maxBytes + MAX_BROTLI_META_BLOCK_BYTES)
    if (output instanceof Uint8Array) return { output: output.subarray(0, maxBytes), fault: 'output limit' }
  }
  const steps = Math.ceil(data.length / BROTLI_STEP_BYTES)
  const isCorrupt = (step: number) =>
    !(tryBrotli(data.subarray(0, step * BROTLI_STEP_BYTES), maxBytes) instanceof Uint8Array)
  const sound = tryBrotli(data.subarray(0, (firstWhere(steps, isCorrupt) - 1) * BROTLI_STEP_BYTES), maxBytes)
  return { output: sound instanceof Uint8Array ? sound : EMPTY_BYTES, fault: 'brotli stream is corrupt' }
}

/** The least number from 1 to `last` where the test holds, given that it holds at `last` and goes on holding once it does. */
function firstWhere(last: number, test: (value: number) => boolean): number {
  let low = 0
  let high = last
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (test(middle)) high = middle
    else low = middle
  }
  return high
}

function tryBrotli(data: Uint8Array, maxOutputLength: number): Uint8Array | 'corrupt' | 'too long' {
  try {
    const finishFlush = constants.BROTLI_OPERATION_FLUSH
    return plain(brotliDecompressSync(data, { maxOutputLength, chunkSize: CHUNK_BYTES, finishFlush }))
  } catch (error) {
    return error instanceof RangeError ? 'too long' : 'corrupt'
  }
}

/** Without Buffer's own methods, whose `slice` does not copy. */
function plain(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}
