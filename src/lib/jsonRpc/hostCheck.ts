import { isIP } from 'node:net'
import type { MiddlewareHandler } from 'hono'

/**
 * Refuses requests addressed to a host name that is not listed: a web page that lets its own name point to this machine
 * (DNS rebinding) gets no answer. Addresses instead of names are let through, as geth does (`node/rpcstack.go`).
 */
export function hostCheck(allowed: readonly string[]): MiddlewareHandler {
  const names = new Set(allowed.map((name) => name.toLowerCase()))
  return async (context, next) => {
    const host = hostName(context.req.header('host') ?? '')
    if (!names.has('*') && host !== '' && isIP(host) === 0 && !names.has(host)) {
      return context.text('invalid host specified', 403)
    }
    return next()
  }
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
