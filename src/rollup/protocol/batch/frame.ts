import { viewOf } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { DERIVATION_VERSION_0, FRAME_ENCODING_OVERHEAD_BYTES, MAX_FRAME_DATA_BYTES } from '../constants.ts'

/** A part of a channel (specs: derivation, "Frame format"). */
export interface Frame {
  /** 16 bytes. */
  channelId: Hex
  /** u16 */
  number: number
  data: Uint8Array
  isLast: boolean
}

/**
 * Encodes one frame, without the version byte of a batcher transaction. Throws RangeError if a value is out of bounds.
 */
export function encodeFrame(frame: Frame): Uint8Array {
  const { data, number } = frame
  if (data.length > MAX_FRAME_DATA_BYTES) throw new RangeError(`frame data of ${data.length} bytes is too long`)
  if (!Number.isInteger(number) || number < 0 || number > 0xffff) throw new RangeError(`frame number ${number}`)
  const out = new Uint8Array(FRAME_ENCODING_OVERHEAD_BYTES + data.length)
  const view = new DataView(out.buffer)
  out.set(fromHex(frame.channelId, 16, 'channel id'), 0)
  view.setUint16(16, number)
  view.setUint32(18, data.length)
  out.set(data, 22)
  out[22 + data.length] = frame.isLast ? 1 : 0
  return out
}

/** The data of a batcher transaction or blob: the version byte, then the frames. */
export function encodeFrames(frames: readonly Frame[]): Uint8Array {
  const encoded = frames.map(encodeFrame)
  const out = new Uint8Array(encoded.reduce((sum, part) => sum + part.length, 1))
  out[0] = DERIVATION_VERSION_0
  let offset = 1
  for (const part of encoded) {
    out.set(part, offset)
    offset += part.length
  }
  return out
}

/**
 * Decodes the data of a batcher transaction or blob, which begins with the version byte. Any fault throws DecodeError,
 * including trailing bytes or no frame. Frame data are views into the input.
 */
export function decodeFrames(txData: Uint8Array): Frame[] {
  return [...framesOf(txData)]
}

/** Like `decodeFrames`, one frame at a time: the frames before a fault come first. */
export function* framesOf(txData: Uint8Array): Generator<Frame, void, undefined> {
  const version = txData[0]
  if (version !== DERIVATION_VERSION_0) {
    const hint = version === 1 ? ' (1 marks a commitment to alternative data availability)' : ''
    throw fault(`version byte is ${version}, expected ${DERIVATION_VERSION_0}${hint}`, 0)
  }
  yield* bareFramesOf(txData, 1)
}

/** Like `framesOf`, without a version byte, from `offset` on. */
export function* bareFramesOf(bytes: Uint8Array, offset = 0): Generator<Frame, void, undefined> {
  if (offset >= bytes.length) throw fault(offset === 0 ? 'none' : 'none after the version byte', offset)
  const view = viewOf(bytes)
  for (let at = offset; at < bytes.length; ) {
    const left = bytes.length - at
    if (left < FRAME_ENCODING_OVERHEAD_BYTES)
      throw fault(`a frame has at least ${FRAME_ENCODING_OVERHEAD_BYTES} bytes, ${left} are left`, at)
    const length = view.getUint32(at + 18)
    if (length > MAX_FRAME_DATA_BYTES)
      throw fault(`data of ${length} bytes, at most ${MAX_FRAME_DATA_BYTES} are allowed`, at + 18)
    const start = at + 22
    const last = bytes[start + length]
    if (last === undefined) throw fault(`data of ${length} bytes and is_last, but ${left - 22} are left`, at + 18)
    if (last > 1) throw fault(`is_last is ${last}, expected 0 or 1`, start + length)
    yield {
      channelId: toHex(bytes.subarray(at, at + 16)),
      number: view.getUint16(at + 16),
      data: bytes.subarray(start, start + length),
      isLast: last === 1,
    }
    at = start + length + 1
  }
}

function fault(rule: string, at: number): DecodeError {
  return new DecodeError(`frames: ${rule}`, { at })
}
