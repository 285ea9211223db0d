import { isIP } from 'node:net'
import type { MiddlewareHandler } from 'hono'

/**
 * Whether a request's Host header names one that is listed: a web page that lets its own name point to this machine (DNS
 * rebinding) gets no answer. Addresses instead of names are let through, as geth does (`node/rpcstack.go`).
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

/** Refuses requests addressed to a host name that is not listed. */
export function hostCheck(allowed: readonly string[]): MiddlewareHandler {
  const isAllowed = createHostCheck(allowed)
  return async (context, next) =>
    isAllowed(context.req.header('host')) ? next() : context.text('invalid host specified', 403)
}

/** The name or address in a Host header, without port and brackets. */
function hostName(header: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(header)
  return (bracketed?.[1] ?? header.replace(/:\d*$/, '')).toLowerCase()
}

/** Whether that is an address, or the name, of this machine that others cannot reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** A server that only this machine can reach is never addressed by another name, so such a request is an attack. */
export function allowedHostsFor(host: string): string[] {
  return isLoopback(host) ? ['localhost'] : ['*']
}
