import { concatBytes, viewOf } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { compressSnappy, uncompressSnappy } from '../snappyBlock.ts'

/** snappy framing_format: stream identifier, chunk types, at most 64 KiB of data in a chunk. */
const STREAM_ID = Uint8Array.of(0xff, 0x06, 0x00, 0x00, 0x73, 0x4e, 0x61, 0x50, 0x70, 0x59)
const CHUNK_COMPRESSED = 0x00
const CHUNK_PLAIN = 0x01
const FIRST_SKIPPABLE = 0x80
const STREAM_ID_TYPE = 0xff
const MAX_CHUNK_BYTES = 65_536
const HEADER_BYTES = 4
const CHECKSUM_BYTES = 4

export function encodeSnappyFrames(data: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [STREAM_ID]
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
  const parts: Uint8Array[] = []
  let total = 0
  let offset = 0
  let sawStreamId = false
  while (offset < stream.length) {
    if (offset + HEADER_BYTES > stream.length) throw new DecodeError('snappy frames: input ends inside a chunk header')
    const header = viewOf(stream).getUint32(offset, true)
    const type = header & 0xff
    const length = header >>> 8
    const start = offset + HEADER_BYTES
    offset = start + length
    if (offset > stream.length) throw new DecodeError('snappy frames: input ends inside a chunk')
    const chunk = stream.subarray(start, offset)
    if (type === STREAM_ID_TYPE) {
      if (Buffer.compare(chunk, STREAM_ID.subarray(HEADER_BYTES)) !== 0) {
        throw new DecodeError('snappy frames: wrong stream identifier')
      }
      sawStreamId = true
      continue
    }
    if (!sawStreamId) throw new DecodeError('snappy frames: no stream identifier at the start')
    if (type >= FIRST_SKIPPABLE) continue
    if (type !== CHUNK_COMPRESSED && type !== CHUNK_PLAIN) throw new DecodeError(`snappy frames: chunk type ${type}`)
    if (length < CHECKSUM_BYTES) throw new DecodeError('snappy frames: chunk without checksum')
    const content = chunk.subarray(CHECKSUM_BYTES)
    const allowed = Math.min(MAX_CHUNK_BYTES, maxBytes - total)
    const plain = type === CHUNK_COMPRESSED ? uncompressSnappy(content, allowed) : content
    if (plain.length > allowed) throw new DecodeError(`snappy frames: more than ${maxBytes} bytes`)
    if (viewOf(chunk).getUint32(0, true) !== maskedCrc32c(plain)) throw new DecodeError('snappy frames: wrong checksum')
    total += plain.length
    parts.push(plain)
  }
  return concatBytes(...parts)
}

/** CRC-32C (Castagnoli), reflected polynomial 0x82f63b78. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  return value
})

export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of data) crc = (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

/** framing_format, section 3: rotated right by 15 bits, plus a constant. */
function maskedCrc32c(data: Uint8Array): number {
  const crc = crc32c(data)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}
