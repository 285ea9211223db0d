import { brotliCompressSync, constants, deflateSync } from 'node:zlib'
import { concatBytes } from '../../../lib/bytes.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import { BROTLI_VERSION, decompress, type ReadChannelOptions } from '../compression/decompress.ts'
import type { Decompressed } from '../compression/inflate.ts'

export type { ReadChannelOptions } from '../compression/decompress.ts'

export const COMPRESSION_ALGORITHMS = ['zlib', 'brotli-9', 'brotli-10', 'brotli-11'] as const
export type CompressionAlgorithm = (typeof COMPRESSION_ALGORITHMS)[number]

/**
 * Iterates over the batches of a complete channel, each as `batch type ‖ content` for `decodeBatch`. If decompression
 * or RLP fails, the batches before the fault come first. Then the iterator throws DecodeError, and the rest of the
 * channel is lost. Batches are views into the decompressed data. Rejects with DecodeError if the channel cannot be read
 * at all.
 */
export async function openChannelBatches(
  data: Uint8Array,
  opts: ReadChannelOptions,
): Promise<Generator<Uint8Array, void, undefined>> {
  return batchesOf(await decompress(data, opts))
}

/** Compresses the concatenated RLP strings of the batches to channel data. */
export function compressChannel(data: Uint8Array, algorithm: CompressionAlgorithm): Uint8Array {
  if (algorithm === 'zlib') {
    const { buffer, byteOffset, length } = deflateSync(data, { level: constants.Z_BEST_COMPRESSION })
    return new Uint8Array(buffer, byteOffset, length)
  }
  const quality = Number(algorithm.slice('brotli-'.length))
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: data.length }
  return concatBytes(Uint8Array.of(BROTLI_VERSION), brotliCompressSync(data, { params }))
}

/** Yields the batches before a fault, then throws DecodeError with the byte offset in the decompressed data. */
export function* batchesOf({ output, fault }: Decompressed): Generator<Uint8Array, void, undefined> {
  const cursor = new RlpCursor(output, 'channel')
  for (let count = 0; cursor.end < output.length; count++) {
    const { end } = cursor
    try {
      cursor.readString(end, output.length, 'batch')
    } catch (error) {
      // The batch is cut off by the fault of the compressed data.
      if (fault !== undefined) break
      throw error
    }
    const batch = output.subarray(cursor.start, cursor.end)
    // op-node cannot decode an unknown batch type, so it drops the rest of the channel.
    if (batch.length === 0) throw cursor.fault(undefined, `batch ${count} is empty`, cursor.start)
    if (batch[0] !== 0 && batch[0] !== 1)
      throw cursor.fault(
        undefined,
        `batch ${count} has type ${batch[0]}, expected 0 (singular) or 1 (span)`,
        cursor.start,
      )
    yield batch
  }
  if (fault !== undefined) throw cursor.fault(undefined, fault, output.length)
}
