import type { BodyChunks } from '../bodyChunks.ts'

export function textOf(chunks: BodyChunks): string {
  return chunks.map((chunk) => (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())).join('')
}
