import { isIP } from 'node:net'
import { isLoopback } from './hostCheck.ts'

/**
 * The web page that made a request, where it is neither trusted nor this machine's own; `*` trusts all. Only browsers name
 * an origin, and they do so with every call of a page. A page without one of its own (`null`) is anybody's.
 *
 * A page that came from where the call goes, by its Host header, is this server's own where that is an address. A name could be
 * a stranger's, who lets it point to this machine (DNS rebinding).
 */
export function foreignOrigin(
  origin: string | undefined,
  trusted: readonly string[],
  hostHeader?: string,
): string | undefined {
  if (origin === undefined) return undefined
  const isTrusted = trusted.some((text) => text === '*' || text.toLowerCase() === origin.toLowerCase())
  const url = URL.parse(origin)
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? ''
  const isOwn = isIP(host) !== 0 && url?.host === hostHeader
  return isTrusted || isOwn || isLoopback(host) ? undefined : origin
}
