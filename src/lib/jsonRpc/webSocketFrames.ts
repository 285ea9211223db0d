import { viewOf } from '../bytes.ts'

// Frames as a server reads and writes them (RFC 6455, section 5): what clients send is masked, what we send is not.

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Section 7.4.1. */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  protocol: 1002,
  unsupported: 1003,
  invalid: 1007,
  policy: 1008,
  tooBig: 1009,
} as const

export class WebSocketFault extends Error {
  override readonly name = 'WebSocketFault'
  readonly closeCode: number

  constructor(closeCode: number, message: string) {
    super(message)
    this.closeCode = closeCode
  }
}

export interface WebSocketReaderOptions {
  /** Of one message, whatever frames it comes in. */
  maxMessageBytes: number
  onMessage(bytes: Uint8Array): void
  onControl(opcode: number, payload: Uint8Array): void
}

export interface WebSocketReader {
  /** Throws WebSocketFault for what is against the rules or too large. */
  read(chunk: Uint8Array): void
  /** Whether a message has begun and not ended. */
  isWithin(): boolean
}

const MAX_CONTROL_BYTES = 125
/** Of the longest head: two bytes, eight of length, four of mask. */
const MAX_HEAD_BYTES = 14

interface Head {
  isLast: boolean
  opcode: number
  length: number
  mask: Uint8Array
}

/** Takes what is read, in whatever pieces. */
export function createWebSocketReader({
  maxMessageBytes,
  onMessage,
  onControl,
}: WebSocketReaderOptions): WebSocketReader {
  const head = new Uint8Array(MAX_HEAD_BYTES)
  let headFilled = 0
  let frame: Head | undefined
  let payload: Uint8Array = new Uint8Array(0)
  let filled = 0
  /** Frames of the message under way; undefined between messages. */
  let parts: Uint8Array[] | undefined
  let partBytes = 0

  const begin = (begun: Head): void => {
    const isControl = begun.opcode >= OPCODE.close
    if (isControl) {
      if (!begun.isLast || begun.length > MAX_CONTROL_BYTES) {
        throw new WebSocketFault(CLOSE.protocol, 'a control frame is in parts, or too long')
      }
    } else {
      if ((begun.opcode === OPCODE.continuation) !== (parts !== undefined)) {
        throw new WebSocketFault(CLOSE.protocol, 'frames of two messages are mixed')
      }
      if (partBytes + begun.length > maxMessageBytes) {
        throw new WebSocketFault(CLOSE.tooBig, `a message is larger than ${maxMessageBytes} bytes`)
      }
    }
    frame = begun
    payload = new Uint8Array(begun.length)
    filled = 0
  }
  const end = ({ opcode, isLast }: Head): void => {
    frame = undefined
    headFilled = 0
    if (opcode >= OPCODE.close) {
      onControl(opcode, payload)
      return
    }
    parts ??= []
    parts.push(payload)
    partBytes += payload.length
    // A million empty frames are a million arrays.
    if (parts.length > 1024) throw new WebSocketFault(CLOSE.tooBig, 'a message is in more than 1024 frames')
    if (!isLast) return
    const whole = parts.length === 1 ? payload : Buffer.concat(parts)
    parts = undefined
    partBytes = 0
    onMessage(whole)
  }

  return {
    isWithin: () => headFilled > 0 || parts !== undefined,
    read(chunk) {
      let at = 0
      while (at < chunk.length) {
        if (frame === undefined) {
          head[headFilled++] = chunk[at++] ?? 0
          const begun = readHead(head, headFilled)
          if (begun === undefined) continue
          begin(begun)
          if (begun.length === 0) end(begun)
          continue
        }
        const part = chunk.subarray(at, at + payload.length - filled)
        const { mask } = frame
        // As they come: a message of megabytes would take its milliseconds at once.
        for (let place = 0; place < part.length; place++) {
          payload[filled + place] = (part[place] ?? 0) ^ (mask[(filled + place) & 3] ?? 0)
        }
        filled += part.length
        at += part.length
        if (filled === payload.length) end(frame)
      }
    },
  }
}

/** undefined until all of it is there. */
function readHead(bytes: Uint8Array, filled: number): Head | undefined {
  const [first = 0, second = 0] = bytes
  if (filled < 2) return undefined
  const opcode = first & 0x0f
  const isKnown = opcode <= OPCODE.binary || (opcode >= OPCODE.close && opcode <= OPCODE.pong)
  if ((first & 0x70) !== 0 || !isKnown)
    throw new WebSocketFault(CLOSE.protocol, 'a frame has bits that nobody agreed on')
  if ((second & 0x80) === 0) throw new WebSocketFault(CLOSE.protocol, 'a frame of a client is not masked')
  const short = second & 0x7f
  const size = short === 126 ? 8 : short === 127 ? 14 : 6
  if (filled < size) return undefined
  const view = viewOf(bytes)
  const length = short === 126 ? view.getUint16(2) : short === 127 ? Number(view.getBigUint64(2)) : short
  return { isLast: (first & 0x80) !== 0, opcode, length, mask: bytes.slice(size - 4, size) }
}

/** In front of a payload of so many bytes. */
export function frameHead(opcode: number, length: number): Uint8Array {
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const head = new Uint8Array(size)
  head[0] = 0x80 | opcode
  const view = viewOf(head)
  if (size === 2) head[1] = length
  else if (size === 4) {
    head[1] = 126
    view.setUint16(2, length)
  } else {
    head[1] = 127
    view.setBigUint64(2, BigInt(length))
  }
  return head
}
