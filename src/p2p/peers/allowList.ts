import { isIP } from 'node:net'
import { parseCidr, parseIp, subnetContains } from '../../lib/ipNet.ts'
import { parsePeerId } from '../host/multiaddrs.ts'

/** The peers of a private network: only these may connect or be dialled. */
export interface AllowList {
  /** Undefined: the answer depends on the missing peer id or IP. */
  permits(peerId: string | undefined, ip: string | undefined): boolean | undefined
}

/** Peer ids, IPs and subnets in CIDR notation; empty: every peer. Throws DecodeError on anything else. */
export function createAllowList(entries: readonly string[], staticIds: readonly string[]): AllowList {
  if (entries.length === 0) return { permits: () => true }
  const isRange = (entry: string): boolean => entry.includes('/') || isIP(entry) !== 0
  const ranges = entries.filter(isRange).map((entry) => {
    if (entry.includes('/')) return parseCidr(entry)
    const address = parseIp(entry)
    return { address, prefixBits: address.length * 8 }
  })
  const ids = entries.filter((entry) => !isRange(entry)).map((entry) => parsePeerId(entry).toString())
  const peers = new Set([...ids, ...staticIds])
  return {
    permits(peerId, ip) {
      if (peerId !== undefined && peers.has(peerId)) return true
      if (ip !== undefined && ranges.some((range) => subnetContains(range, parseIp(ip)))) return true
      const isOpen = (peerId === undefined && peers.size > 0) || (ip === undefined && ranges.length > 0)
      return isOpen ? undefined : false
    },
  }
}
