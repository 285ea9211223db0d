import { isIP } from 'node:net'
import { isLoopback } from './hostCheck.ts'

/**
 * Whether an origin matches the list. An entry may contain one `*` for any text, as in geth's `--http.corsdomain`
 * (github.com/rs/cors). For example, `http://localhost:*` matches any port, and `*` any origin.
 */
export function isOriginListed(origin: string, listed: readonly string[]): boolean {
  const text = origin.toLowerCase()
  return listed.some((entry) => {
    const [start = '', end, ...rest] = entry.toLowerCase().split('*')
    if (end === undefined || rest.length > 0) return text === entry.toLowerCase()
    return text.length >= start.length + end.length && text.startsWith(start) && text.endsWith(end)
  })
}

/** The value of `access-control-allow-origin` for a page of `origin`. */
export function allowedOrigin(listed: readonly string[], origin: string | undefined): string | undefined {
  if (listed.includes('*')) return '*'
  return origin !== undefined && isOriginListed(origin, listed) ? origin : undefined
}

/**
 * Returns the origin of the calling web page if the page is neither trusted nor served by this machine. Only browsers
 * send an origin, and they send it with every call of a page. The origin `null` may be any page.
 *
 * A page whose origin equals the Host header is this server's own if the host is an IP address. A host name could
 * resolve to this machine by DNS rebinding, so it is not trusted.
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
