import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { DecodeError } from '../../lib/errors.ts'
import { nextTurn } from '../../lib/nextTurn.ts'

/** What writing needs of a stream. */
export type Writable = Pick<Stream, 'send' | 'onDrain' | 'close'>
/** The events of a stream that are listened to. */
export interface StreamEvents {
  message: StreamMessageEvent
  /** The other side writes no more. */
  end: Event
  close: StreamCloseEvent
}
export interface StreamListening {
  addEventListener<Type extends keyof StreamEvents>(type: Type, listener: (event: StreamEvents[Type]) => void): void
  removeEventListener<Type extends keyof StreamEvents>(type: Type, listener: (event: StreamEvents[Type]) => void): void
}
/** What reading needs of a stream. */
export type Readable = StreamListening & Pick<Stream, 'readableEnded' | 'readBufferLength'>

/** All bytes until the other side closes its end. Throws DecodeError past `maxBytes`, and the signal's reason. */
export function readAll(stream: Readable, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  return read(stream, bytesReader({ maxBytes, enough: Number.POSITIVE_INFINITY }), signal)
}

/** The first `count` bytes, as soon as they are there; fewer only when the other side closes its end before. */
export function readFirst(stream: Readable, count: number, signal: AbortSignal): Promise<Uint8Array> {
  return read(stream, bytesReader({ maxBytes: Number.POSITIVE_INFINITY, enough: count }), signal)
}

interface Reader {
  /** What was waited for, once it is there. */
  take(data: StreamMessageEvent['data']): Uint8Array | undefined
  /** What that is when no more comes. */
  atEnd(): Uint8Array
}

function bytesReader(limits: { maxBytes: number; enough: number }): Reader {
  const room = Math.min(limits.maxBytes, limits.enough)
  const collected = collectBytes(room)
  let total = 0
  return {
    take(data) {
      collected.add(data.subarray().subarray(0, Math.max(0, room - total)))
      total += data.byteLength
      if (total > limits.maxBytes) throw new DecodeError(`more than ${limits.maxBytes} bytes`)
      return total >= limits.enough ? collected.whole() : undefined
    },
    atEnd: collected.whole,
  }
}

/**
 * By events: the stream's own iterator never ends when data and end of stream have come before it was asked for, as
 * go-libp2p sends them together with the protocol's name.
 */
function read(stream: Readable, reader: Reader, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      stream.removeEventListener('message', onMessage)
      stream.removeEventListener('end', onEnd)
      stream.removeEventListener('close', onClose)
      signal.removeEventListener('abort', onAbort)
    }
    /** Ends the reading with what `found` returns or throws, unless that is nothing yet. */
    const settle = (found: () => Uint8Array | undefined): void => {
      try {
        const bytes = found()
        if (bytes === undefined) return
        resolve(bytes)
      } catch (error) {
        reject(error)
      }
      stop()
    }
    const onMessage = ({ data }: StreamMessageEvent): void =>
      settle(() => reader.take(data) ?? (isOver(stream) ? reader.atEnd() : undefined))
    const onEnd = (): void => settle(reader.atEnd)
    const onClose = ({ error }: StreamCloseEvent): void =>
      settle(() => {
        if (error !== undefined) throw error
        return reader.atEnd()
      })
    const onAbort = (): void =>
      settle(() => {
        throw signal.reason
      })
    if (signal.aborted) {
      onAbort()
      return
    }
    signal.addEventListener('abort', onAbort)
    stream.addEventListener('end', onEnd)
    stream.addEventListener('close', onClose)
    stream.addEventListener('message', onMessage)
    if (isOver(stream)) onEnd()
  })
}

/** The buffer of what is read grows by this much. */
const GROWTH_BYTES = 256 * 1024

/**
 * Puts what comes into one buffer, without a copy when it grows. Kept one by one, each byte could cost an object, since a
 * peer decides how small the pieces are, and at the end of ten megabytes it would take the event loop 7 ms to join them.
 */
function collectBytes(maxBytes: number): { add(piece: Uint8Array): void; whole(): Uint8Array } {
  const buffer = new ArrayBuffer(0, { maxByteLength: maxBytes })
  const bytes = new Uint8Array(buffer)
  let used = 0
  return {
    add(piece) {
      const end = used + piece.length
      if (end > buffer.byteLength) buffer.resize(Math.min(maxBytes, Math.max(end, buffer.byteLength + GROWTH_BYTES)))
      bytes.set(piece, used)
      used = end
    },
    whole: () => new Uint8Array(buffer, 0, used),
  }
}

/** Ended, and nothing left: bytes that came with the protocol's name are put back after the end was announced. */
function isOver(stream: Readable): boolean {
  return stream.readableEnded && stream.readBufferLength === 0
}

/** Writes everything and closes the writing end. */
export async function writeAll(stream: Writable, data: Uint8Array, signal: AbortSignal): Promise<void> {
  if (!stream.send(data)) await stream.onDrain({ signal })
  await stream.close({ signal })
}

/** The same for what is made piece by piece: each in a turn of the event loop of its own, and when there is room for it. */
export async function writePieces(stream: Writable, pieces: Iterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  for (const piece of pieces) {
    signal.throwIfAborted()
    if (!stream.send(piece)) await stream.onDrain({ signal })
    await nextTurn()
  }
  await stream.close({ signal })
}
