import { isLoopback } from './hostCheck.ts'

/**
 * The web page that made a request, where it is neither trusted nor this machine's own; `*` trusts all. Only browsers name
 * an origin, and they do so with every call of a page. A page without one of its own (`null`) is anybody's.
 */
export function foreignOrigin(origin: string | undefined, trusted: readonly string[]): string | undefined {
  if (origin === undefined) return undefined
  const isTrusted = trusted.some((text) => text === '*' || text.toLowerCase() === origin.toLowerCase())
  const host = URL.canParse(origin) ? new URL(origin).hostname.replace(/^\[|\]$/g, '') : ''
  return isTrusted || isLoopback(host) ? undefined : origin
}
