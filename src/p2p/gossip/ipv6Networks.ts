import { normalizeCidr, parseIp } from '../../lib/ipNet.ts'

/**
 * The /64 of an IPv6 address: whoever has one address of such a network has them all. Undefined for anything else, such as an
 * IPv4 address in IPv6 form.
 */
export function ipv6Network(ip: string): string | undefined {
  try {
    return parseIp(ip).length === 16 ? normalizeCidr(`${ip}/64`) : undefined
  } catch {
    return undefined
  }
}
