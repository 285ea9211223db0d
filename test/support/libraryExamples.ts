import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DOCUMENT = fileURLToPath(new URL('../../docs/library.md', import.meta.url))

/** The examples of docs/library.md, by package entry. */
export function libraryExamples(): Map<string, string> {
  const text = readFileSync(DOCUMENT, 'utf8')
  const sections = text.matchAll(/^## `devium\/(\w+)`.*?^```ts\n(.*?)^```/gms)
  return new Map([...sections].map(([, entry = '', code = '']) => [entry, code]))
}
