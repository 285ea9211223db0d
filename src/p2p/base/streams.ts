import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { DecodeError } from '../../lib/errors.ts'
import { nextTurn } from '../../lib/nextTurn.ts'

/** The members of a stream that writing needs. */
export type Writable = Pick<Stream, 'send' | 'onDrain' | 'close'>
/** The stream events that reading listens to. */
export interface StreamEvents {
  message: StreamMessageEvent
  /** The remote side writes no more. */
  end: Event
  close: StreamCloseEvent
}
export interface StreamListening {
  addEventListener<Type extends keyof StreamEvents>(type: Type, listener: (event: StreamEvents[Type]) => void): void
  removeEventListener<Type extends keyof StreamEvents>(type: Type, listener: (event: StreamEvents[Type]) => void): void
}
/** The members of a stream that reading needs. */
export type Readable = StreamListening & Pick<Stream, 'readableEnded' | 'readBufferLength'>

/** Reads until the remote side closes its end. Throws DecodeError past `maxBytes`, and the signal's reason. */
export function readAll(stream: Readable, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  return read(stream, { maxBytes, enough: Number.POSITIVE_INFINITY }, signal)
}

/**
 * Resolves with the first `count` bytes as soon as they arrive. Fewer only when the remote side closes its end earlier.
 */
export function readFirst(stream: Readable, count: number, signal: AbortSignal): Promise<Uint8Array> {
  return read(stream, { maxBytes: Number.POSITIVE_INFINITY, enough: count }, signal)
}

/**
 * Reads by events. The stream's own iterator never ends if data and end of stream arrive before iteration begins;
 * go-libp2p sends them together with the protocol's name.
 */
function read(
  stream: Readable,
  limits: { maxBytes: number; enough: number },
  signal: AbortSignal,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const collected = collectBytes(Math.min(limits.maxBytes, limits.enough))
    let total = 0
    const stop = (): void => {
      stream.removeEventListener('message', onMessage)
      stream.removeEventListener('end', finish)
      stream.removeEventListener('close', onClose)
      signal.removeEventListener('abort', onAbort)
    }
    const finish = (): void => {
      stop()
      resolve(collected.whole())
    }
    const fail = (error: unknown): void => {
      stop()
      reject(error)
    }
    const onMessage = ({ data }: StreamMessageEvent): void => {
      collected.add(data.subarray())
      total += data.byteLength
      if (total > limits.maxBytes) fail(new DecodeError(`more than ${limits.maxBytes} bytes`))
      else if (total >= limits.enough || isOver(stream)) finish()
    }
    const onClose = ({ error }: StreamCloseEvent): void => (error === undefined ? finish() : fail(error))
    const onAbort = (): void => fail(signal.reason)
    if (signal.aborted) {
      onAbort()
      return
    }
    signal.addEventListener('abort', onAbort)
    stream.addEventListener('end', finish)
    stream.addEventListener('close', onClose)
    stream.addEventListener('message', onMessage)
    if (isOver(stream)) finish()
  })
}

/** The read buffer grows in steps of this size. */
const GROWTH_BYTES = 256 * 1024

/**
 * Collects at most `maxBytes` in one buffer that grows without a copy. A peer chooses its chunk sizes, so each byte
 * could cost an object. Joining the chunks of ten megabytes would block the event loop for 7 ms.
 */
function collectBytes(maxBytes: number): { add(chunk: Uint8Array): void; whole(): Uint8Array } {
  const buffer = new ArrayBuffer(0, { maxByteLength: maxBytes })
  const bytes = new Uint8Array(buffer)
  let used = 0
  return {
    add(chunk) {
      const end = Math.min(maxBytes, used + chunk.length)
      if (end > buffer.byteLength) buffer.resize(Math.min(maxBytes, Math.max(end, buffer.byteLength + GROWTH_BYTES)))
      bytes.set(chunk.subarray(0, end - used), used)
      used = end
    },
    whole: () => new Uint8Array(buffer, 0, used),
  }
}

/**
 * True: the stream has ended and its buffer is empty. Bytes that came with the protocol's name are put back after the
 * end event.
 */
function isOver(stream: Readable): boolean {
  return stream.readableEnded && stream.readBufferLength === 0
}

/** Writes all data and closes the writing end. */
export async function writeAll(stream: Writable, data: Uint8Array, signal: AbortSignal): Promise<void> {
  if (!stream.send(data)) await stream.onDrain({ signal })
  await stream.close({ signal })
}

/**
 * As `writeAll`, for generated data: one part in each iteration of the event loop, and only when the stream's buffer has
 * space.
 */
export async function writeParts(stream: Writable, parts: Iterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  for (const part of parts) {
    signal.throwIfAborted()
    if (!stream.send(part)) await stream.onDrain({ signal })
    await nextTurn()
  }
  await stream.close({ signal })
}
