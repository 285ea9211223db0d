import { DecodeError } from '../../../lib/errors.ts'

export const BLOB_BYTES = 131_072
/** Maximum data of one blob (specs: derivation, "Blob encoding"). */
export const MAX_BLOB_DATA_BYTES = 130_044

const FIELD_BYTES = 32
const ROUND_BYTES = 4 * FIELD_BYTES
/** Data of a round: four bodies of 31 bytes with three bytes x, y, z between them. */
const ROUND_DATA_BYTES = 127
/** Version byte and 3-byte length before the data. */
const HEADER_BYTES = 4
const ENCODING_VERSION = 0

/** Encodes data as a blob of 131,072 bytes. Throws RangeError if the data are too long. */
export function encodeBlob(data: Uint8Array): Uint8Array {
  if (data.length > MAX_BLOB_DATA_BYTES) {
    throw new RangeError(`blob data of ${data.length} bytes, at most ${MAX_BLOB_DATA_BYTES}`)
  }
  const content = new Uint8Array(HEADER_BYTES + data.length)
  content[0] = ENCODING_VERSION
  content[1] = data.length >>> 16
  content[2] = (data.length >>> 8) & 0xff
  content[3] = data.length & 0xff
  content.set(data, HEADER_BYTES)
  const blob = new Uint8Array(BLOB_BYTES)
  for (let round = 0; round * ROUND_DATA_BYTES < content.length; round++) encodeRound(blob, round, content)
  return blob
}

/** Decodes the data of a blob. Throws DecodeError. */
export function decodeBlob(blob: Uint8Array): Uint8Array {
  if (blob.length !== BLOB_BYTES) throw fault(`${blob.length} bytes, expected ${BLOB_BYTES}`, 0)
  if (blob[1] !== ENCODING_VERSION) throw fault(`version ${blob[1]} is not known`, 1)
  const length = ((blob[2] ?? 0) << 16) | ((blob[3] ?? 0) << 8) | (blob[4] ?? 0)
  if (length > MAX_BLOB_DATA_BYTES) throw fault(`length ${length} is too large`, 2)
  const end = HEADER_BYTES + length
  const rounds = Math.ceil(end / ROUND_DATA_BYTES)
  const content = new Uint8Array(rounds * ROUND_DATA_BYTES)
  for (let round = 0; round < rounds; round++) decodeRound(blob, round, content)
  const spare = firstNonZero(content, end)
  const extra = spare === undefined ? firstNonZero(blob, rounds * ROUND_BYTES) : placeOf(spare)
  if (extra !== undefined) throw fault('data after its end', extra)
  return content.subarray(HEADER_BYTES, end)
}

function encodeRound(blob: Uint8Array, round: number, content: Uint8Array): void {
  const from = round * ROUND_DATA_BYTES
  const to = round * ROUND_BYTES
  for (let field = 0; field < 4; field++) {
    blob.set(content.subarray(from + field * 32, from + field * 32 + 31), to + field * FIELD_BYTES + 1)
  }
  const x = content[from + 31] ?? 0
  const y = content[from + 63] ?? 0
  const z = content[from + 95] ?? 0
  blob[to] = x & 0x3f
  blob[to + 32] = (y & 0x0f) | ((x & 0xc0) >> 2)
  blob[to + 64] = z & 0x3f
  blob[to + 96] = ((z & 0xc0) >> 2) | ((y & 0xf0) >> 4)
}

function decodeRound(blob: Uint8Array, round: number, content: Uint8Array): void {
  const from = round * ROUND_BYTES
  const to = round * ROUND_DATA_BYTES
  const a = blob[from] ?? 0
  const b = blob[from + 32] ?? 0
  const c = blob[from + 64] ?? 0
  const d = blob[from + 96] ?? 0
  if (((a | b | c | d) & 0xc0) !== 0) {
    const field = [a, b, c, d].findIndex((first) => (first & 0xc0) !== 0)
    throw fault(`field element of round ${round} is too large`, from + field * FIELD_BYTES)
  }
  for (let field = 0; field < 4; field++) {
    const start = from + field * FIELD_BYTES
    content.set(blob.subarray(start + 1, start + FIELD_BYTES), to + field * 32)
  }
  content[to + 31] = (a & 0x3f) | ((b & 0x30) << 2)
  content[to + 63] = (b & 0x0f) | ((d & 0x0f) << 4)
  content[to + 95] = (c & 0x3f) | ((d & 0x30) << 2)
}

function firstNonZero(bytes: Uint8Array, from: number): number | undefined {
  for (let i = from; i < bytes.length; i++) if (bytes[i] !== 0) return i
  return undefined
}

/**
 * Offset in the blob of a content byte. For a byte that is spread over the first bytes of field elements, the offset of
 * the field element before it.
 */
function placeOf(index: number): number {
  const inRound = index % ROUND_DATA_BYTES
  const field = inRound >>> 5
  const place = Math.floor(index / ROUND_DATA_BYTES) * ROUND_BYTES + field * FIELD_BYTES
  return inRound % 32 === 31 ? place : place + 1 + (inRound % 32)
}

function fault(rule: string, at: number): DecodeError {
  return new DecodeError(`blob: ${rule}`, { at })
}
