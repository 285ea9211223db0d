import { createSlots } from '../lib/slots.ts'
import type { SendPart } from './callContext.ts'
import { type Pieces, PieceWriter } from './pieces.ts'
import { JsonRpcError, RPC_RESPONSE_TOO_LARGE } from './types.ts'

/** Each holds what it was begun with, and up to a megabyte that its client has not read. */
const MAX_SENT_AT_ONCE = 16
/** Characters of an answer that is there as a whole before it leaves, though it could be sent while it is written. */
const MAX_WHOLE_LENGTH = 25_000_000

export interface Stream {
  before: string
  /** Begun when its turn comes. */
  pieces: AsyncIterable<string>
  after: string
}

/** Writes long answers, so many at once: all of an answer, or what `sendPart` was not given. */
export type StreamWriter = (stream: Stream, signal: AbortSignal, sendPart: SendPart | undefined) => Promise<Pieces>

/** What it returns rejects with the reason of the signal, or with JsonRpcError where an answer is too long for a whole. */
export function createStreamWriter(): StreamWriter {
  const sent = createSlots(MAX_SENT_AT_ONCE)
  const collected = createSlots(1)
  return (stream, signal, sendPart) =>
    (sendPart === undefined ? collected : sent).run(() => {
      // Who came before has ended by then: no call has more time than those behind it.
      signal.throwIfAborted()
      return write(stream, sendPart)
    })
}

async function write({ before, pieces, after }: Stream, sendPart: SendPart | undefined): Promise<Pieces> {
  const writer = new PieceWriter()
  writer.add(before)
  let length = 0
  for await (const piece of pieces) {
    writer.add(piece)
    length += piece.length
    if (sendPart !== undefined) {
      const part = writer.takeMuch()
      if (part !== undefined) await sendPart(part)
    } else if (length > MAX_WHOLE_LENGTH) {
      throw new JsonRpcError(
        RPC_RESPONSE_TOO_LARGE,
        'response too large: ask for it over HTTP, by a small request of its own',
      )
    }
  }
  writer.add(after)
  return writer.end()
}
