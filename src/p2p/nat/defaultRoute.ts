import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'

/**
 * IPv4 addresses that may be the router's. On Linux: those of the default route. Elsewhere: the first address of each
 * network.
 */
export async function routerCandidates(): Promise<string[]> {
  const routed = await readFile('/proc/net/route', 'utf8').then(defaultRouters, () => [])
  if (routed.length > 0) return routed
  return [...new Set(ownAddresses().map((address) => address.replace(/\d+$/, '1')))]
}

export function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)
}

/**
 * Parses the kernel's routing table: rows of interface, destination and router, both in hex with the lowest byte first.
 */
export function defaultRouters(table: string): string[] {
  return table
    .split('\n')
    .slice(1)
    .map((row) => row.trim().split(/\s+/))
    .filter(([, destination, router]) => destination === '00000000' && /^[0-9A-F]{8}$/i.test(router ?? ''))
    .map(([, , router = '']) => Buffer.from(router, 'hex').reverse().join('.'))
    .filter((address) => address !== '0.0.0.0')
}
