import { fileURLToPath } from 'node:url'

/** Where the launchers are: two folders up in a checkout, three from what was compiled into dist/. */
export function binDirectory(): string {
  const up = import.meta.url.endsWith('.ts') ? '../../bin' : '../../../bin'
  return fileURLToPath(new URL(up, import.meta.url))
}
