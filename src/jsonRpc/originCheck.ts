import { isIP } from 'node:net'
import { isLoopback } from './hostCheck.ts'

/**
 * Whether an origin is listed. One `*` in an entry stands for any text, as in geth's `--http.corsdomain`
 * (github.com/rs/cors): `http://localhost:*` is any port, `*` alone any origin.
 */
export function isOriginListed(origin: string, listed: readonly string[]): boolean {
  const text = origin.toLowerCase()
  return listed.some((entry) => {
    const [start = '', end, ...rest] = entry.toLowerCase().split('*')
    if (end === undefined || rest.length > 0) return text === entry.toLowerCase()
    return text.length >= start.length + end.length && text.startsWith(start) && text.endsWith(end)
  })
}

/** Whose pages may read an answer to a page of `origin`. */
export function allowedOrigin(listed: readonly string[], origin: string | undefined): string | undefined {
  if (listed.includes('*')) return '*'
  return origin !== undefined && isOriginListed(origin, listed) ? origin : undefined
}

/**
 * The web page that made a request, where it is neither trusted nor this machine's own. Only browsers name
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
  const url = URL.parse(origin)
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? ''
  const isOwn = isIP(host) !== 0 && url?.host === hostHeader
  return isOriginListed(origin, trusted) || isOwn || isLoopback(host) ? undefined : origin
}
