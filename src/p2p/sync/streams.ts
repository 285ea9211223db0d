import type { Stream } from '@libp2p/interface'
import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'

/** All bytes until the other side closes its end. Throws DecodeError past `maxBytes`, and the signal's reason. */
export async function readAll(stream: Stream, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const onAbort = (): void => stream.abort(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
  signal.throwIfAborted()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const parts: Uint8Array[] = []
    let total = 0
    for await (const chunk of stream) {
      const bytes = chunk.subarray()
      total += bytes.length
      if (total > maxBytes) throw new DecodeError(`more than ${maxBytes} bytes`)
      parts.push(bytes)
    }
    signal.throwIfAborted()
    return concatBytes(...parts)
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Writes everything and closes the writing end. */
export async function writeAll(stream: Stream, data: Uint8Array, signal: AbortSignal): Promise<void> {
  if (!stream.send(data)) await stream.onDrain({ signal })
  await stream.close({ signal })
}
