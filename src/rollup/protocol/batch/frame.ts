import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { DERIVATION_VERSION_0, FRAME_ENCODING_OVERHEAD_BYTES, MAX_FRAME_DATA_BYTES } from '../constants.ts'

/** A piece of a channel (specs: derivation, "Frame format"). */
export interface Frame {
  /** 16 bytes. */
  channelId: Hex
  /** u16 */
  number: number
  data: Uint8Array
  isLast: boolean
}

/** Bytes of one frame, without the version byte that leads a batcher transaction. Throws RangeError out of bounds. */
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

/** Data of a batcher transaction or blob: the version byte and the frames. */
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
 * Frames of a batcher transaction's or blob's data, which begins with the version byte. All or nothing: any fault, also
 * bytes after the last frame or no frame at all, throws DecodeError. Frame data are views into the input.
 */
export function decodeFrames(txData: Uint8Array): Frame[] {
  if (txData[0] !== DERIVATION_VERSION_0) throw new DecodeError(`frames: version byte is ${txData[0]}`)
  if (txData.length === 1) throw new DecodeError('frames: none after the version byte')
  const view = new DataView(txData.buffer, txData.byteOffset, txData.length)
  const frames: Frame[] = []
  let offset = 1
  while (offset < txData.length) {
    if (txData.length - offset < FRAME_ENCODING_OVERHEAD_BYTES) throw new DecodeError('frames: truncated')
    const length = view.getUint32(offset + 18)
    if (length > MAX_FRAME_DATA_BYTES) throw new DecodeError(`frames: data of ${length} bytes is too long`)
    const start = offset + 22
    const last = txData[start + length]
    if (last === undefined) throw new DecodeError('frames: truncated')
    if (last > 1) throw new DecodeError(`frames: is_last is ${last}`)
    frames.push({
      channelId: toHex(txData.subarray(offset, offset + 16)),
      number: view.getUint16(offset + 16),
      data: txData.subarray(start, start + length),
      isLast: last === 1,
    })
    offset = start + length + 1
  }
  return frames
}
