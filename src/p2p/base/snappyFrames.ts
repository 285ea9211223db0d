import { createCRC32 } from 'hash-wasm'
import { concatBytes, viewOf } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { compressSnappy, snappyDeclaredLength, uncompressSnappy } from './snappyBlock.ts'

/** snappy framing_format: stream identifier, chunk types, at most 64 KiB of data in a chunk. */
const STREAM_ID = Uint8Array.of(0xff, 0x06, 0x00, 0x00, 0x73, 0x4e, 0x61, 0x50, 0x70, 0x59)
const CHUNK_COMPRESSED = 0x00
const CHUNK_PLAIN = 0x01
const FIRST_SKIPPABLE = 0x80
const STREAM_ID_TYPE = 0xff
const MAX_CHUNK_BYTES = 65_536
const HEADER_BYTES = 4
const CHECKSUM_BYTES = 4

/** Data bytes in one part of a stream. Compressing them takes a millisecond. */
export const PART_BYTES = 4 * MAX_CHUNK_BYTES

/** Yields the stream in parts, one for each part of the data, so that large data is not compressed in one task. */
export function* snappyFrameParts(parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield STREAM_ID
  for (const part of parts) yield frames(part)
}

function frames(data: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = []
  for (let start = 0; start < data.length; start += MAX_CHUNK_BYTES) {
    const plain = data.subarray(start, start + MAX_CHUNK_BYTES)
    const packed = compressSnappy(plain)
    const isSmaller = packed.length < plain.length
    const content = isSmaller ? packed : plain
    const head = new Uint8Array(HEADER_BYTES + CHECKSUM_BYTES)
    const view = viewOf(head)
    view.setUint32(0, (content.length + CHECKSUM_BYTES) * 256 + (isSmaller ? CHUNK_COMPRESSED : CHUNK_PLAIN), true)
    view.setUint32(HEADER_BYTES, maskedCrc32c(plain), true)
    parts.push(head, content)
  }
  return concatBytes(...parts)
}

/** Decodes a whole stream of at most `maxBytes` of data. Throws DecodeError. */
export function decodeSnappyFrames(stream: Uint8Array, maxBytes: number): Uint8Array {
  const data = new Uint8Array(framedLength(stream, maxBytes))
  let at = 0
  for (const { isPacked, checksum, content } of dataChunks(stream)) {
    const plain = isPacked ? uncompressSnappy(content, MAX_CHUNK_BYTES) : content
    if (checksum !== maskedCrc32c(plain)) throw new DecodeError('snappy frames: wrong checksum')
    data.set(plain, at)
    at += plain.length
  }
  return data
}

/** Number of data bytes in a stream, as its chunks declare. Throws DecodeError, also above `maxBytes`. */
export function framedLength(stream: Uint8Array, maxBytes: number): number {
  let total = 0
  for (const { isPacked, content } of dataChunks(stream)) {
    const length = isPacked ? snappyDeclaredLength(content) : content.length
    if (length > MAX_CHUNK_BYTES) throw new DecodeError(`snappy frames: a chunk of ${length} bytes`)
    total += length
    if (total > maxBytes) throw new DecodeError(`snappy frames: more than ${maxBytes} bytes`)
  }
  return total
}

interface DataChunk {
  isPacked: boolean
  checksum: number
  content: Uint8Array
}

function* dataChunks(stream: Uint8Array): Generator<DataChunk> {
  const view = viewOf(stream)
  let offset = 0
  let sawStreamId = false
  while (offset < stream.length) {
    if (offset + HEADER_BYTES > stream.length) throw new DecodeError('snappy frames: input ends inside a chunk header')
    const header = view.getUint32(offset, true)
    const type = header & 0xff
    const length = header >>> 8
    const start = offset + HEADER_BYTES
    offset = start + length
    if (offset > stream.length) throw new DecodeError('snappy frames: input ends inside a chunk')
    if (type === STREAM_ID_TYPE) {
      if (Buffer.compare(stream.subarray(start, offset), STREAM_ID.subarray(HEADER_BYTES)) !== 0) {
        throw new DecodeError('snappy frames: wrong stream identifier')
      }
      sawStreamId = true
      continue
    }
    if (!sawStreamId) throw new DecodeError('snappy frames: no stream identifier at the start')
    if (type >= FIRST_SKIPPABLE) continue
    if (type !== CHUNK_COMPRESSED && type !== CHUNK_PLAIN) throw new DecodeError(`snappy frames: chunk type ${type}`)
    if (length < CHECKSUM_BYTES) throw new DecodeError('snappy frames: chunk without checksum')
    yield {
      isPacked: type === CHUNK_COMPRESSED,
      checksum: view.getUint32(start, true),
      content: stream.subarray(start + CHECKSUM_BYTES, offset),
    }
  }
}

/** CRC-32C (Castagnoli). One shared instance is safe because every use runs init, update and digest without yielding. */
const crc32c = await createCRC32(0x82f63b78)

/** framing_format, section 3: the CRC is rotated right by 15 bits, then a constant is added. */
function maskedCrc32c(data: Uint8Array): number {
  const crc = viewOf(crc32c.init().update(data).digest('binary')).getUint32(0)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}
