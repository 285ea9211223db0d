import { fileURLToPath } from 'node:url'

/** Directory of the launchers: two folders up in a checkout, three from the compiled dist/. */
export function binDirectory(): string {
  const up = import.meta.url.endsWith('.ts') ? '../../bin' : '../../../bin'
  return fileURLToPath(new URL(up, import.meta.url))
}
