import { parseIp, type Subnet, subnetContains } from '../../lib/ipNet.ts'
import type { NodeRecord } from './nodeRecord.ts'
import { OPSTACK_VERSION } from './opstackEntry.ts'

/** Why a discovered node is ignored; undefined: it may be dialled. */
export type RecordRefusal = 'no-opstack-entry' | 'other-chain' | 'other-version' | 'no-address' | 'bad-address'

export interface RecordFilterOptions {
  chainId: bigint
  /** CIDR ranges that limit discovery; empty: no limit. */
  netrestrict: readonly Subnet[]
}

export interface Dialable {
  ip: string
  tcpPort: number
}

/** op-node's rule (chain id and version 0), and at least one dialable address. */
export function refusalOf(
  record: NodeRecord,
  options: RecordFilterOptions,
  ownIp: string | undefined,
): RecordRefusal | undefined {
  if (record.opstack === undefined) return 'no-opstack-entry'
  if (record.opstack.chainId !== options.chainId) return 'other-chain'
  if (record.opstack.version !== OPSTACK_VERSION) return 'other-version'
  if (locationsOf(record).length === 0) return 'no-address'
  return dialable(record, options, ownIp).length === 0 ? 'bad-address' : undefined
}

/** The dialable addresses of the node, IPv4 first. */
export function dialable(
  record: NodeRecord,
  options: Pick<RecordFilterOptions, 'netrestrict'>,
  ownIp: string | undefined,
): Dialable[] {
  return locationsOf(record).filter((location) => {
    const ip = parseIp(location.ip)
    if (!isAllowed(ip, options.netrestrict) || isUndialable(ip)) return false
    // A node with a public address does not dial private addresses that an unauthenticated peer announces.
    return !isLocal(ip) || ownIp === undefined || isLocal(parseIp(ownIp))
  })
}

function locationsOf({ ip, tcpPort, alsoAt }: NodeRecord): Dialable[] {
  const all = [
    { ip, tcpPort },
    { ip: alsoAt?.ip, tcpPort: alsoAt?.tcpPort },
  ]
  return all.flatMap((at) =>
    at.ip === undefined || at.tcpPort === undefined ? [] : [{ ip: at.ip, tcpPort: at.tcpPort }],
  )
}

/** An empty list of ranges allows all addresses. */
export function isAllowed(ip: Uint8Array, ranges: readonly Subnet[]): boolean {
  return ranges.length === 0 || ranges.some((range) => subnetContains(range, ip))
}

/** Unspecified, multicast and broadcast addresses. */
function isUndialable(ip: Uint8Array): boolean {
  const first = ip[0] ?? 0
  if (ip.length === 4) return first === 0 || first >= 224
  return first === 0xff || ip.every((byte) => byte === 0)
}

export function isLocalIp(ip: string): boolean {
  return isLocal(parseIp(ip))
}

/** Loopback, link-local and private ranges (RFC 1918, RFC 4193). */
function isLocal(ip: Uint8Array): boolean {
  const [a = 0, b = 0] = ip
  if (ip.length === 4) {
    return (
      a === 10 || a === 127 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) || (a === 169 && b === 254)
    )
  }
  const isLoopback = ip.subarray(0, 15).every((byte) => byte === 0) && ip[15] === 1
  return isLoopback || (a & 0xfe) === 0xfc || (a === 0xfe && (b & 0xc0) === 0x80)
}
