import type { IncomingMessage } from 'node:http'
import { concatBytes, freeBytes } from '../lib/bytes.ts'

/** Of a longer body each piece is copied as it comes, and freed: hundreds of them would outlive it, and leave holes behind. */
const SHORT_BYTES = 65_536

export interface BodyPause {
  bytes: number
  /** False when it is not to be read at all. */
  wait(resume: () => void): boolean
}

/**
 * Hands the body of a request to `onEnd`; `too-large` as soon as it shows to be longer than `maxBytes`, of which no
 * more is kept. Not called when the client goes away before its end: what has come of a long one is freed then. One that
 * shows to be longer than `pause.bytes` waits there until what `pause.wait` is given is called, once.
 *
 * No async iterator, nor a promise: they cost as much as the rest of a small call.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  onEnd: (body: Uint8Array | 'too-large') => void,
  pause?: BodyPause,
): void {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes) {
    onEnd('too-large')
    return
  }
  let collected = announced > SHORT_BYTES ? Buffer.allocUnsafeSlow(announced) : undefined
  let chunks: Uint8Array[] = []
  let length = 0
  let hasPaused = pause === undefined
  const onData = (chunk: Uint8Array) => {
    length += chunk.length
    if (!hasPaused && pause !== undefined && length > pause.bytes) {
      hasPaused = true
      request.pause()
      if (!pause.wait(() => request.resume())) {
        chunks = []
        request.off('data', onData).off('end', onWhole)
        return
      }
    }
    if (collected !== undefined) {
      // Its parser lets no more come than was announced.
      collected.set(chunk, length - chunk.length)
      freeBytes(chunk)
      return
    }
    if (length <= maxBytes) {
      chunks.push(chunk)
      return
    }
    chunks = []
    request.off('data', onData).off('end', onWhole).pause()
    onEnd('too-large')
  }
  const onWhole = () => {
    const [first] = chunks
    const bytes = collected ?? (first !== undefined && chunks.length === 1 ? first : concatBytes(...chunks))
    collected = undefined
    chunks = []
    onEnd(bytes)
  }
  request.on('data', onData).on('end', onWhole)
  if (collected === undefined) return
  request.once('close', () => {
    if (collected !== undefined) freeBytes(collected)
  })
}
