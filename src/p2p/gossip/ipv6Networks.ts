import { normalizeCidr, parseIp } from '../../lib/ipNet.ts'

/**
 * The /64 network of an IPv6 address: an owner of one address usually has the whole network. Undefined for anything
 * else, for example an IPv4-mapped address.
 */
export function ipv6Network(ip: string): string | undefined {
  try {
    return parseIp(ip).length === 16 ? normalizeCidr(`${ip}/64`) : undefined
  } catch {
    return undefined
  }
}
