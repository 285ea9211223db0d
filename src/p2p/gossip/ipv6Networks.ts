import { normalizeCidr, parseIp } from '../../lib/ipNet.ts'
import type { Around, ScoreInternals } from './adapter.ts'

/**
 * Counts an IPv6 peer at its /64 as well as at its address, as go-libp2p-pubsub does and the library does not: whoever
 * has one address of such a network has them all.
 */
export function countIpv6Networks(exempt: Pick<ReadonlySet<string>, 'has'>): Around<ScoreInternals, 'addIP'> {
  return (addIP) => (peerId, ip) => {
    addIP(peerId, ip)
    const network = exempt.has(ip) ? undefined : ipv6Network(ip)
    if (network !== undefined) addIP(peerId, network)
  }
}

/** Undefined for what is no IPv6 address, an IPv4 address in IPv6 form among them. */
function ipv6Network(ip: string): string | undefined {
  try {
    return parseIp(ip).length === 16 ? normalizeCidr(`${ip}/64`) : undefined
  } catch {
    return undefined
  }
}
