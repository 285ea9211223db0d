import type { IncomingMessage } from 'node:http'
import { concatBytes } from '../bytes.ts'

const decoder = new TextDecoder()

/**
 * Hands the body of a request as text to `onEnd`; `too-large` as soon as it shows to be longer than `maxBytes`, of which no
 * more is kept. Not called when the client goes away before its end.
 *
 * No async iterator, nor a promise: they cost as much as the rest of a small call.
 */
export function readBodyText(
  request: IncomingMessage,
  maxBytes: number,
  onEnd: (text: string | 'too-large') => void,
): void {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes) {
    onEnd('too-large')
    return
  }
  let chunks: Uint8Array[] = []
  let length = 0
  const onData = (chunk: Uint8Array) => {
    length += chunk.length
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
    const bytes = first !== undefined && chunks.length === 1 ? first : concatBytes(...chunks)
    chunks = []
    onEnd(decoder.decode(bytes))
  }
  request.on('data', onData).on('end', onWhole)
}
