import { brotliCompressSync, brotliDecompressSync, constants, deflateSync, inflateSync } from 'node:zlib'
import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { readRlpHeader } from '../../lib/rlp.ts'
import { inflatePrefix } from './inflate.ts'

/** Leads channel data that are compressed with brotli (specs: fjord/derivation, "Brotli channel compression"). */
const BROTLI_VERSION = 1
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
 * The native decoder gives nothing for data that are corrupt or too long, so the longest part of them that it still
 * accepts is searched for.
 */
function decompressBrotli(data: Uint8Array, maxBytes: number): Decompressed {
  const whole = tryBrotli(data, maxBytes)
  if (whole !== undefined) return { output: whole }
  let accepted: Uint8Array = new Uint8Array(0)
  let low = 0
  let high = data.length
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    const output = tryBrotli(data.subarray(0, middle), maxBytes)
    if (output === undefined) high = middle
    else {
      low = middle
      accepted = output
    }
  }
  return { output: accepted, fault: 'brotli stream is corrupt or too long' }
}

/** undefined when the data are corrupt, or longer than `maxBytes` once decompressed. */
function tryBrotli(data: Uint8Array, maxBytes: number): Uint8Array | undefined {
  try {
    const finishFlush = constants.BROTLI_OPERATION_FLUSH
    return plain(brotliDecompressSync(data, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES, finishFlush }))
  } catch {
    return undefined
  }
}

/** Without Buffer's own methods, whose `slice` does not copy. */
function plain(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}
