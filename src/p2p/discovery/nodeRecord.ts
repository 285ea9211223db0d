import { formatIp } from '../../lib/ipNet.ts'
import { decodeOpstackEntry, OPSTACK_KEY, type OpstackEntry } from './opstackEntry.ts'

/** A decoded node record (EIP-778). Its signature has been verified. */
export interface NodeRecord {
  /** `enr:…` */
  text: string
  /** 64 hex digits. */
  nodeId: string
  sequence: bigint
  /** 33 bytes, secp256k1. The libp2p peer id is derived from it. */
  publicKey: Uint8Array
  /** The IPv4 address if there is one, since most peers can reach it. Otherwise the IPv6 address. */
  ip: string | undefined
  tcpPort: number | undefined
  udpPort: number | undefined
  /** The IPv6 address of a node that has both. */
  alsoAt: Location | undefined
  /** Undefined when the entry is missing or malformed. */
  opstack: OpstackEntry | undefined
}

export interface Location {
  ip: string
  tcpPort: number | undefined
  udpPort: number | undefined
}

type Entries = ReadonlyMap<string, Uint8Array>

/** Reads the entries of a record. A malformed entry counts as missing, so that a hostile record never throws here. */
export function readEntries(entries: Entries): Omit<NodeRecord, 'text' | 'nodeId' | 'sequence' | 'publicKey'> {
  const ip4 = entries.get('ip')
  const ip6 = entries.get('ip6')
  // EIP-778: the ports are valid for both families unless `tcp6` or `udp6` overrides them.
  const port4 = { tcpPort: portOf(entries.get('tcp')), udpPort: portOf(entries.get('udp')) }
  const opstack = opstackOf(entries.get(OPSTACK_KEY))
  const port6 = {
    tcpPort: portOf(entries.get('tcp6')) ?? port4.tcpPort,
    udpPort: portOf(entries.get('udp6')) ?? port4.udpPort,
  }
  const at6 = ip6?.length === 16 ? { ip: formatIp(ip6), ...port6 } : undefined
  if (ip4?.length === 4) return { ip: formatIp(ip4), ...port4, alsoAt: at6, opstack }
  return { ip: undefined, ...port6, ...at6, alsoAt: undefined, opstack }
}

function portOf(bytes: Uint8Array | undefined): number | undefined {
  if (bytes === undefined || bytes.length === 0 || bytes.length > 2) return undefined
  const port = bytes.reduce((value, byte) => value * 256 + byte, 0)
  return port === 0 ? undefined : port
}

function opstackOf(content: Uint8Array | undefined): OpstackEntry | undefined {
  if (content === undefined) return undefined
  try {
    return decodeOpstackEntry(content)
  } catch {
    return undefined
  }
}
