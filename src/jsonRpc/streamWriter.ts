import { createSemaphore } from '../lib/semaphore.ts'
import { type BodyChunks, ChunkWriter } from './bodyChunks.ts'
import type { SendPart } from './callContext.ts'
import { JsonRpcError, RPC_RESPONSE_TOO_LARGE } from './types.ts'

/** Each answer holds its source data, and up to a megabyte that the client has not read. */
const MAX_SENT_AT_ONCE = 16
/** Maximum characters of a streamable answer that is collected before it is sent. */
const MAX_WHOLE_LENGTH = 25_000_000

interface Stream {
  before: string
  /** Starts when a slot is free. */
  chunks: AsyncIterable<string>
  after: string
}

/**
 * Writes long answers, a limited number at a time. The writer returns the whole answer, or the rest that `sendPart` did
 * not get. It rejects with the signal's reason, or with JsonRpcError if a collected answer is too long.
 */
export function createStreamWriter() {
  const sent = createSemaphore(MAX_SENT_AT_ONCE)
  const collected = createSemaphore(1)
  return (stream: Stream, signal: AbortSignal, sendPart: SendPart | undefined): Promise<BodyChunks> =>
    (sendPart === undefined ? collected : sent).run(() => {
      // Earlier calls have ended by now: all calls have the same time limit.
      signal.throwIfAborted()
      return write(stream, sendPart)
    })
}

async function write({ before, chunks, after }: Stream, sendPart: SendPart | undefined): Promise<BodyChunks> {
  const writer = new ChunkWriter()
  writer.add(before)
  let length = 0
  for await (const chunk of chunks) {
    writer.add(chunk)
    length += chunk.length
    if (sendPart !== undefined) {
      const part = writer.takeMuch()
      if (part !== undefined) await sendPart(part)
    } else if (length > MAX_WHOLE_LENGTH) {
      throw new JsonRpcError(RPC_RESPONSE_TOO_LARGE, 'response too large: send this call alone over HTTP')
    }
  }
  writer.add(after)
  return writer.end()
}
