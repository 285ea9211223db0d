import { isIP } from 'node:net'
import type { MiddlewareHandler } from 'hono'

/**
 * Checks the Host header against a list. This blocks DNS rebinding, where a web page's domain resolves to this machine.
 * IP addresses are always allowed, as in geth (`node/rpcstack.go`).
 */
export function createHostCheck(allowed: readonly string[]): (header: string | undefined) => boolean {
  const names = new Set(allowed.map((name) => name.toLowerCase()))
  if (names.has('*')) return () => true
  let lastAllowed: string | undefined
  return (header = '') => {
    if (header === lastAllowed) return true
    const host = hostName(header)
    const isAllowed = host === '' || isIP(host) !== 0 || names.has(host)
    if (isAllowed) lastAllowed = header
    return isAllowed
  }
}

/** Rejects requests whose Host header is not allowed. */
export function hostCheck(allowed: readonly string[]): MiddlewareHandler {
  const isAllowed = createHostCheck(allowed)
  return async (context, next) =>
    isAllowed(context.req.header('host')) ? next() : context.text('invalid host specified', 403)
}

/** The name or address of a Host header, without port and brackets. */
function hostName(header: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(header)
  return (bracketed?.[1] ?? header.replace(/:\d*$/, '')).toLowerCase()
}

/** Whether the host is a loopback address or name, which other machines cannot reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** On loopback, a request with another host name is an attack, so only `localhost` is allowed. */
export function allowedHostsFor(host: string): string[] {
  return isLoopback(host) ? ['localhost'] : ['*']
}
