import { type Hex, toHex } from '../../../lib/hex.ts'
import { DERIVATION_VERSION_0, MAX_FRAME_DATA_BYTES } from '../../../rollup/protocol/constants.ts'
import type { Frame } from '../../../rollup/protocol/index.ts'
import { type Fault, faultOf, MalformedError } from './fault.ts'

/** Channel id, number and data length in front of the data (specs: derivation, "Frame format"). */
const HEADER_BYTES = 22

export interface FoundFrame extends Frame {
  /** Where the frame begins in the data it was read from. */
  byte: number
}

export interface FoundFrames {
  /** Those before the fault, too: derivation takes all of a transaction's frames or none. */
  frames: FoundFrame[]
  fault: Fault | null
}

const EFFECT = 'derivation ignores every frame of this transaction or blob'

/** Frames behind the version byte of a batcher transaction's or blob's data. */
export function readFrames(data: Uint8Array, place: string): FoundFrames {
  if (data[0] !== DERIVATION_VERSION_0) {
    const rule =
      data.length === 0 ? 'no data' : `version byte is ${data[0]}, expected ${DERIVATION_VERSION_0}${hint(data[0])}`
    return {
      frames: [],
      fault: faultOf(new MalformedError(0, rule), { in: place, effect: 'derivation ignores the data' }),
    }
  }
  return readBareFrames(data, 1, place)
}

/** Frames from `start` on, without a version byte in front. */
export function readBareFrames(data: Uint8Array, start: number, place: string): FoundFrames {
  const frames: FoundFrame[] = []
  try {
    if (start >= data.length) throw new MalformedError(start, 'no frame after the version byte')
    for (let byte = start; byte < data.length; ) {
      const frame = readFrame(data, byte)
      frames.push(frame)
      byte += HEADER_BYTES + frame.data.length + 1
    }
    return { frames, fault: null }
  } catch (error) {
    return { frames, fault: faultOf(error, { in: place, effect: EFFECT }) }
  }
}

function readFrame(data: Uint8Array, byte: number): FoundFrame {
  const left = data.length - byte
  if (left < HEADER_BYTES + 1) {
    throw new MalformedError(byte, `a frame has at least ${HEADER_BYTES + 1} bytes, ${left} are left`)
  }
  const view = new DataView(data.buffer, data.byteOffset + byte, left)
  const length = view.getUint32(18)
  if (length > MAX_FRAME_DATA_BYTES) {
    throw new MalformedError(byte + 18, `frame data of ${length} bytes, at most ${MAX_FRAME_DATA_BYTES} are allowed`)
  }
  const start = byte + HEADER_BYTES
  const last = data[start + length]
  if (last === undefined) {
    throw new MalformedError(
      byte + 18,
      `frame data of ${length} bytes and is_last, but ${left - HEADER_BYTES} are left`,
    )
  }
  if (last > 1) throw new MalformedError(start + length, `is_last is ${last}, expected 0 or 1`)
  const channelId: Hex = toHex(data.subarray(byte, byte + 16))
  return { byte, channelId, number: view.getUint16(16), data: data.subarray(start, start + length), isLast: last === 1 }
}

function hint(version: number | undefined): string {
  return version === 1 ? ' (1 stands before a commitment to alternative data availability)' : ''
}
