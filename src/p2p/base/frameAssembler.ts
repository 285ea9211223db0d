import { DeviumError } from '../../lib/errors.ts'

export type FrameFault = 'oversized-rpc' | 'backlog' | 'slow-frame'

/** A stream of frames that cannot be read any further. */
export class FrameError extends DeviumError<FrameFault> {}

/** Bytes as libp2p delivers them: one chunk, or a list of chunks. */
export type Chunks = Uint8Array | (Iterable<Uint8Array> & { readonly byteLength: number })

const FIRST_BYTES = 16 * 1024
/** The length of a 10 MiB frame takes four bytes. */
const MAX_LENGTH_BYTES = 5

/**
 * Splits a stream into frames, each with a varint length. Small chunks are copied into one buffer: a chunk object costs
 * 200 bytes of heap, and an unauthenticated peer chooses the size of its chunks.
 */
export function createFrameAssembler(
  /** `maxBacklogBytes` limits unread bytes: whole frames and a part of one. */
  limits: { maxFrameBytes: number; maxBacklogBytes: number },
) {
  /**
   * Unread bytes are between `start` and `end`. A returned frame is a view of the bytes before `start`, so nothing is
   * written there.
   */
  let buffer: Uint8Array = new Uint8Array(0)
  let start = 0
  let end = 0
  /** True: this assembler allocated the buffer, so it may write after `end`. */
  let isOwn = false

  const append = (chunk: Uint8Array): void => {
    const held = end - start
    if (held === 0 && buffer.length === 0) {
      // The usual case: a packet with whole frames is read in place, without a copy.
      buffer = chunk
      start = 0
      end = chunk.length
      return
    }
    if (end + chunk.length > buffer.length || !isOwn) {
      const grown = new Uint8Array(Math.max(FIRST_BYTES, 2 * (held + chunk.length)))
      grown.set(buffer.subarray(start, end))
      buffer = grown
      isOwn = true
      start = 0
      end = held
    }
    buffer.set(chunk, end)
    end += chunk.length
  }

  const release = (): void => {
    buffer = new Uint8Array(0)
    isOwn = false
    start = 0
    end = 0
  }
  return {
    /** Throws FrameError `backlog`. */
    push(data: Chunks): void {
      if (end - start + data.byteLength > limits.maxBacklogBytes) {
        throw new FrameError('backlog', `more than ${limits.maxBacklogBytes} bytes are unread`)
      }
      if (data instanceof Uint8Array) append(data)
      else for (const chunk of data) append(chunk)
    },
    /** The next whole, non-empty frame. Throws FrameError `oversized-rpc`. */
    next(): Uint8Array | undefined {
      for (;;) {
        let length = 0
        let at = start
        for (let shift = 0; ; shift++) {
          if (at >= end) return undefined
          const byte = buffer[at++] ?? 0
          length += (byte & 0x7f) * 2 ** (7 * shift)
          if (byte < 0x80) break
          if (shift + 1 >= MAX_LENGTH_BYTES) throw oversized('a length of more than five bytes')
        }
        if (length > limits.maxFrameBytes) throw oversized(`${length} bytes, at most ${limits.maxFrameBytes} allowed`)
        if (end - at < length) return undefined
        // Copy a small frame, so that it does not keep a large buffer alive.
        const isSmall = isOwn && length * 4 < buffer.length
        const frame = isSmall ? buffer.slice(at, at + length) : buffer.subarray(at, at + length)
        start = at + length
        if (start === end) release()
        if (length > 0) return frame
      }
    },
    isPartial: (): boolean => end > start,
    clear: release,
  }
}

function oversized(message: string): FrameError {
  return new FrameError('oversized-rpc', message)
}
