import { z } from 'zod'
import { DecodeError } from '../../lib/errors.ts'
import {
  formatCidr,
  formatIp,
  normalizeCidr,
  normalizeIp,
  parseCidr,
  parseIp,
  type Subnet,
  subnetContains,
} from '../../lib/ipNet.ts'
import type { Ban } from '../base/records.ts'
import type { BlockRecord } from '../base/schemas.ts'

/** Larger than any operator needs, small enough to write on each change. */
const MAX_BANS = 1_000

const TEXTS = z.array(z.string())
/** Time and reason of each block. Older versions wrote none. */
const NOTES = z.record(z.string(), z.object({ sinceMs: z.number(), reason: z.string() })).default({})

const STORED = z.object({
  version: z.literal(1),
  blockedPeers: TEXTS,
  blockedAddrs: TEXTS,
  blockedSubnets: TEXTS,
  protectedPeers: TEXTS,
  peerBans: z.record(z.string(), z.object({ expiryMs: z.number(), reason: z.string() })),
  blockNotes: NOTES,
})

/** Time and reason of one block by the operator. */
export type BlockNote = z.infer<typeof NOTES>[string]

/**
 * The operator's three block lists, time-limited bans of peers, and peers protected from pruning. In memory only;
 * `AccessListStore` persists them.
 */
export class AccessLists {
  readonly blockedPeers = new Set<string>()
  readonly protectedPeers = new Set<string>()
  private readonly addrs = new Set<string>()
  private readonly subnets = new Map<string, Subnet>()
  /** Key: the blocked peer id, IP or CIDR text. */
  private readonly notes = new Map<string, BlockNote>()
  private readonly bans = new Map<string, Ban>()

  // These four return the entry in its normalized form.
  blockAddr(ip: string): string {
    const entry = normalizeIp(ip)
    this.addrs.add(entry)
    return entry
  }
  unblockAddr(ip: string): string {
    const entry = normalizeIp(ip)
    this.addrs.delete(entry)
    return entry
  }
  blockSubnet(cidr: string): string {
    const subnet = parseCidr(cidr)
    this.subnets.set(formatCidr(subnet), subnet)
    return formatCidr(subnet)
  }
  unblockSubnet(cidr: string): string {
    const entry = normalizeCidr(cidr)
    this.subnets.delete(entry)
    return entry
  }
  listAddrs(): string[] {
    return [...this.addrs]
  }
  listSubnets(): string[] {
    return [...this.subnets.keys()]
  }

  /** `subject` in the normalized form of the block lists. */
  noteBlock(subject: string, note: BlockNote): void {
    this.notes.set(subject, note)
  }
  blocks(): BlockRecord[] {
    const record = (kind: BlockRecord['kind']) => (subject: string) => {
      const { sinceMs, reason } = this.notes.get(subject) ?? { sinceMs: null, reason: '' }
      return { subject, kind, reason, sinceMs }
    }
    return [
      ...[...this.blockedPeers].map(record('peer')),
      ...this.listAddrs().map(record('address')),
      ...this.listSubnets().map(record('subnet')),
    ]
  }

  isAddrBlocked(ip: string): boolean {
    return this.addrBlock(ip) !== undefined
  }
  /** The list entry that matches the address: an IP or CIDR text. */
  addrBlock(ip: string): string | undefined {
    if (this.addrs.size === 0 && this.subnets.size === 0) return undefined
    let bytes: Uint8Array
    try {
      bytes = parseIp(ip)
    } catch {
      return undefined
    }
    const text = formatIp(bytes)
    if (this.addrs.has(text)) return text
    for (const [cidr, subnet] of this.subnets) if (subnetContains(subnet, bytes)) return cidr
    return undefined
  }

  /** Above the limit, the ban that expires first is removed. */
  banPeer(peerId: string, ban: Ban): void {
    this.bans.set(peerId, ban)
    if (this.bans.size <= MAX_BANS) return
    const [first] = [...this.bans].reduce((a, b) => (b[1].expiryMs < a[1].expiryMs ? b : a))
    this.bans.delete(first)
  }
  /** True: there was a ban. */
  unbanPeer(peerId: string): boolean {
    return this.bans.delete(peerId)
  }
  /** The ban in force. */
  peerBan(peerId: string, nowMs: number): Ban | undefined {
    const ban = this.bans.get(peerId)
    return ban !== undefined && ban.expiryMs > nowMs ? ban : undefined
  }
  activeBans(nowMs: number): [peerId: string, ban: Ban][] {
    return [...this.bans].filter(([, { expiryMs }]) => expiryMs > nowMs)
  }
  /** Removes expired bans and returns their peers. */
  liftExpiredBans(nowMs: number): string[] {
    const expired = [...this.bans.keys()].filter((peerId) => this.peerBan(peerId, nowMs) === undefined)
    for (const peerId of expired) this.bans.delete(peerId)
    return expired
  }

  toJson() {
    return {
      version: 1,
      blockedPeers: [...this.blockedPeers],
      blockedAddrs: this.listAddrs(),
      blockedSubnets: this.listSubnets(),
      protectedPeers: [...this.protectedPeers],
      peerBans: Object.fromEntries(this.bans),
      // Earlier versions do not read a file without it.
      ipBans: {},
      blockNotes: this.activeNotes(),
    }
  }

  /** Drops notes whose entry was removed. */
  private activeNotes(): Record<string, BlockNote> {
    return Object.fromEntries(
      this.blocks().flatMap(({ subject, reason, sinceMs }) =>
        sinceMs === null ? [] : [[subject, { sinceMs, reason }]],
      ),
    )
  }

  /** Throws DecodeError when the JSON does not have the format of `toJson`. */
  static fromJson(json: unknown): AccessLists {
    const { data: stored, error } = STORED.safeParse(json)
    if (error !== undefined) throw new DecodeError(`access lists: ${z.prettifyError(error)}`)
    const lists = new AccessLists()
    for (const peer of stored.blockedPeers) lists.blockedPeers.add(peer)
    for (const ip of stored.blockedAddrs) lists.blockAddr(ip)
    for (const cidr of stored.blockedSubnets) lists.blockSubnet(cidr)
    for (const peer of stored.protectedPeers) lists.protectedPeers.add(peer)
    for (const [peer, ban] of Object.entries(stored.peerBans)) lists.banPeer(peer, ban)
    for (const [subject, note] of Object.entries(stored.blockNotes)) lists.noteBlock(subject, note)
    return lists
  }
}
