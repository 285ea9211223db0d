import { DecodeError } from '../../lib/errors.ts'
import { formatCidr, formatIp, parseCidr, parseIp, type Subnet, subnetContains } from '../../lib/ipNet.ts'

/** When and why a peer or an IP may not connect, until `expiryMs` (Unix milliseconds). */
export interface Ban {
  expiryMs: number
  reason: string
}

/** What is kept on disk. */
export interface AccessListsJson {
  version: 1
  blockedPeers: string[]
  blockedAddrs: string[]
  blockedSubnets: string[]
  protectedPeers: string[]
  peerBans: Record<string, Ban>
  ipBans: Record<string, Ban>
}

/**
 * Who may not connect: the operator's three block lists, time-limited bans, and the peers an operator protected from
 * pruning. Pure memory; `AccessListStore` keeps it.
 */
export class AccessLists {
  readonly blockedPeers = new Set<string>()
  readonly protectedPeers = new Set<string>()
  private readonly addrs = new Set<string>()
  private readonly subnets = new Map<string, Subnet>()
  private readonly peerBans = new Map<string, Ban>()
  private readonly ipBans = new Map<string, Ban>()

  blockAddr(ip: string): void {
    this.addrs.add(formatIp(parseIp(ip)))
  }
  unblockAddr(ip: string): void {
    this.addrs.delete(formatIp(parseIp(ip)))
  }
  blockSubnet(cidr: string): void {
    const subnet = parseCidr(cidr)
    this.subnets.set(formatCidr(subnet), subnet)
  }
  unblockSubnet(cidr: string): void {
    this.subnets.delete(formatCidr(parseCidr(cidr)))
  }
  listAddrs(): string[] {
    return [...this.addrs]
  }
  listSubnets(): string[] {
    return [...this.subnets.keys()]
  }

  /** By the operator's address and subnet lists. */
  isAddrBlocked(ip: string): boolean {
    if (this.addrs.size === 0 && this.subnets.size === 0) return false
    let bytes: Uint8Array
    try {
      bytes = parseIp(ip)
    } catch {
      return false
    }
    if (this.addrs.has(formatIp(bytes))) return true
    for (const subnet of this.subnets.values()) if (subnetContains(subnet, bytes)) return true
    return false
  }

  banPeer(peerId: string, ban: Ban): void {
    this.peerBans.set(peerId, ban)
  }
  /** True when there was a ban. */
  unbanPeer(peerId: string): boolean {
    return this.peerBans.delete(peerId)
  }
  banIp(ip: string, ban: Ban): void {
    this.ipBans.set(formatIp(parseIp(ip)), ban)
  }
  unbanIp(ip: string): boolean {
    return this.ipBans.delete(ip)
  }
  /** The ban on record, expired or not. */
  peerBan(peerId: string): Ban | undefined {
    return this.peerBans.get(peerId)
  }
  ipBan(ip: string): Ban | undefined {
    return this.ipBans.get(ip)
  }
  listPeerBans(): [string, Ban][] {
    return [...this.peerBans]
  }

  listIpBans(): [string, Ban][] {
    return [...this.ipBans]
  }

  toJson(): AccessListsJson {
    return {
      version: 1,
      blockedPeers: [...this.blockedPeers],
      blockedAddrs: this.listAddrs(),
      blockedSubnets: this.listSubnets(),
      protectedPeers: [...this.protectedPeers],
      peerBans: Object.fromEntries(this.peerBans),
      ipBans: Object.fromEntries(this.ipBans),
    }
  }

  /** Throws DecodeError when the JSON is not what `toJson` writes. */
  static fromJson(json: unknown): AccessLists {
    const record = asRecord(json, 'access lists')
    if (record.version !== 1) throw new DecodeError(`access lists: unknown version ${String(record.version)}`)
    const lists = new AccessLists()
    for (const peer of asStrings(record.blockedPeers, 'blockedPeers')) lists.blockedPeers.add(peer)
    for (const ip of asStrings(record.blockedAddrs, 'blockedAddrs')) lists.blockAddr(ip)
    for (const cidr of asStrings(record.blockedSubnets, 'blockedSubnets')) lists.blockSubnet(cidr)
    for (const peer of asStrings(record.protectedPeers, 'protectedPeers')) lists.protectedPeers.add(peer)
    for (const [peer, ban] of asBans(record.peerBans, 'peerBans')) lists.banPeer(peer, ban)
    for (const [ip, ban] of asBans(record.ipBans, 'ipBans')) lists.banIp(ip, ban)
    return lists
  }
}

function asRecord(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DecodeError(`${what}: expected an object`)
  }
  return { ...value }
}

function asStrings(value: unknown, what: string): string[] {
  if (!Array.isArray(value)) throw new DecodeError(`${what}: expected a list`)
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw new DecodeError(`${what}: expected texts`)
    return item
  })
}

function asBans(value: unknown, what: string): [string, Ban][] {
  return Object.entries(asRecord(value, what)).map(([key, entry]) => {
    const { expiryMs, reason } = asRecord(entry, what)
    if (typeof expiryMs !== 'number' || typeof reason !== 'string') throw new DecodeError(`${what}: bad ban of ${key}`)
    return [key, { expiryMs, reason }]
  })
}
