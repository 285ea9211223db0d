import { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import { concatBytes } from '../bytes.ts'

const decoder = new TextDecoder()

/**
 * The body of a request as text; `too-large` as soon as it shows to be longer than `maxBytes`, of which no more is kept.
 * Rejects when the client goes away before its end.
 *
 * Under a Node server the socket's own stream is read: a web stream on top of it, with the Request that holds it, costs as much as
 * the rest of a small call.
 */
export async function readBodyText(context: Context, maxBytes: number): Promise<string | 'too-large'> {
  const announced = Number(context.req.header('content-length') ?? 0)
  if (announced > maxBytes) return 'too-large'
  const incoming: unknown = context.env?.incoming
  const source = incoming instanceof IncomingMessage ? incoming : context.req.raw.body
  if (source === null) return ''
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of source as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxBytes) return 'too-large'
    chunks.push(chunk)
  }
  const [first] = chunks
  if (chunks.length === 1) return decoder.decode(first)
  const bytes = concatBytes(...chunks)
  chunks.length = 0
  return decoder.decode(bytes)
}
