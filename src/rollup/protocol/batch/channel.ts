import { brotliCompressSync, constants, deflateSync } from 'node:zlib'
import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { readRlpHeader } from '../../../lib/rlp.ts'
import { BROTLI_VERSION, type Decompressed, decompress, type ReadChannelOptions } from '../compression/decompress.ts'

export type { ReadChannelOptions } from '../compression/decompress.ts'

export const COMPRESSION_ALGORITHMS = ['zlib', 'brotli-9', 'brotli-10', 'brotli-11'] as const
export type CompressionAlgorithm = (typeof COMPRESSION_ALGORITHMS)[number]

/**
 * The batches of a complete channel, each as `batch type ‖ content`, ready for `decodeBatch`. Where decompression or RLP
 * fails the batches before the fault come first, then DecodeError is thrown: the rest of the channel is lost. Batches are
 * views into the decompressed data. Rejects with DecodeError for a channel that cannot be read at all.
 */
export async function openChannelBatches(
  data: Uint8Array,
  opts: ReadChannelOptions,
): Promise<Generator<Uint8Array, void, undefined>> {
  const decompressed = decompress(data, opts)
  return splitBatches(decompressed instanceof Promise ? await decompressed : decompressed)
}

/** Channel data from the concatenation of RLP strings that are its batches. */
export function compressChannel(data: Uint8Array, algorithm: CompressionAlgorithm): Uint8Array {
  if (algorithm === 'zlib') {
    const { buffer, byteOffset, length } = deflateSync(data, { level: constants.Z_BEST_COMPRESSION })
    return new Uint8Array(buffer, byteOffset, length)
  }
  const quality = Number(algorithm.slice('brotli-'.length))
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: data.length }
  return concatBytes(Uint8Array.of(BROTLI_VERSION), brotliCompressSync(data, { params }))
}

function* splitBatches({ output, fault }: Decompressed): Generator<Uint8Array, void, undefined> {
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

function readItemHeader(output: Uint8Array, offset: number, fault: string | undefined) {
  try {
    return readRlpHeader(output, offset)
  } catch (cause) {
    throw new DecodeError(`channel: ${fault ?? 'batch is no RLP string'}`, { cause })
  }
}
