import { isIP } from 'node:net'
import { publicKeyFromRaw } from '@libp2p/crypto/keys'
import { peerIdFromPublicKey } from '@libp2p/peer-id'
import { type Component, multiaddr } from '@multiformats/multiaddr'
import { describeError } from '../../../../lib/errors.ts'
import { normalizeIp } from '../../../../lib/ipNet.ts'
import { parseEnode } from '../../../../p2p/discovery/bootnodes.ts'
import type { NodeRecord } from '../../../../p2p/discovery/nodeRecord.ts'
import { parsePeerId } from '../../../../p2p/host/multiaddrs.ts'

export type TargetHost =
  | { kind: 'ip'; ip: string }
  /** Family 0: IPv4 or IPv6. */
  | { kind: 'dns'; name: string; family: 0 | 4 | 6 }
  /** TXT records of `_dnsaddr.<name>` hold the addresses. */
  | { kind: 'dnsaddr'; name: string }

/** The parsed target of a check. */
export interface CheckTarget {
  kind: 'multiaddress' | 'enr' | 'enode'
  text: string
  /** The expected peer; undefined when a multiaddress does not name it. */
  peerId: string | undefined
  /** Undefined: a record without an address. */
  host: TargetHost | undefined
  /** Undefined: the text has no port, or the node serves discovery only. */
  tcpPort: number | undefined
  /** The IPv6 address of a record that has both. */
  alsoAt?: { ip: string; tcpPort: number | undefined } | undefined
  /** Undefined for a multiaddress, which has no discovery address. */
  discovery: { publicKey: Uint8Array; udpPort: number | undefined } | undefined
  /** Present for an ENR. */
  record: NodeRecord | undefined
}

/** The fault of the text, and the expected form. */
export interface TargetFault {
  step: 'address' | 'record'
  text: string
  hint: string
}

const EXPECTED = 'expected /ip4/<ip>/tcp/<port>/p2p/<peer id>, enr:… or enode://<key>@<host>:<port>'
const MAX_TEXT = 4_096

/** `parseRecord` throws DecodeError when the record or its signature is invalid. */
export function parseTarget(given: string, parseRecord: (text: string) => NodeRecord): CheckTarget | TargetFault {
  const text = given.trim()
  if (text === '') return { step: 'address', text: 'the address is empty', hint: EXPECTED }
  if (text.length > MAX_TEXT)
    return { step: 'address', text: `the address has ${text.length} characters, more than ${MAX_TEXT}`, hint: EXPECTED }
  if (text.startsWith('enode:')) return enodeTarget(text)
  if (text.startsWith('enr:')) return enrTarget(text, parseRecord)
  if (text.startsWith('/')) return multiaddrTarget(text)
  return { step: 'address', text: 'it is neither a multiaddress nor a node record', hint: guess(text) ?? EXPECTED }
}

function enodeTarget(text: string): CheckTarget | TargetFault {
  try {
    const { publicKey, host, udpPort } = parseEnode(text)
    const [, port = '0'] = /:(\d+)(?:\?discport=\d+)?$/.exec(text) ?? []
    return {
      kind: 'enode',
      text,
      peerId: peerIdOfKey(publicKey),
      host: isIP(host) === 0 ? { kind: 'dns', name: host, family: 0 } : { kind: 'ip', ip: normalizeIp(host) },
      tcpPort: Number(port) || undefined,
      discovery: { publicKey, udpPort },
      record: undefined,
    }
  } catch (error) {
    return {
      step: 'record',
      text: describeError(error),
      hint: 'expected enode://<128 hex digits>@<ip or name>:<TCP port>[?discport=<UDP port>]',
    }
  }
}

function enrTarget(text: string, parseRecord: (text: string) => NodeRecord): CheckTarget | TargetFault {
  try {
    const record = parseRecord(text)
    return {
      kind: 'enr',
      text,
      peerId: peerIdOfKey(record.publicKey),
      host: record.ip === undefined ? undefined : { kind: 'ip', ip: record.ip },
      tcpPort: record.tcpPort,
      alsoAt: record.alsoAt === undefined ? undefined : { ip: record.alsoAt.ip, tcpPort: record.alsoAt.tcpPort },
      discovery: { publicKey: record.publicKey, udpPort: record.udpPort },
      record,
    }
  } catch (error) {
    return {
      step: 'record',
      text: describeError(error),
      hint: 'the signature covers the whole record, so one wrong character makes it invalid',
    }
  }
}

/** Throws when the bytes are not a secp256k1 key. */
function peerIdOfKey(publicKey: Uint8Array): string {
  return peerIdFromPublicKey(publicKeyFromRaw(publicKey)).toString()
}

function multiaddrTarget(text: string): CheckTarget | TargetFault {
  const fault = (what: string, hint = EXPECTED): TargetFault => ({ step: 'address', text: what, hint })
  let parts: Component[]
  try {
    parts = multiaddr(text).getComponents()
  } catch (error) {
    return fault(`not a multiaddress: ${describeError(error)}`, hintFor(text))
  }
  const id = parts.find(({ name }) => name === 'p2p')?.value
  const rest = parts.filter(({ name }) => name !== 'p2p')
  const [where, tcp, ...others] = rest
  if (where === undefined)
    return fault(
      'a peer id without an address',
      `${EXPECTED}. The RPC method opp2p_self of that node returns its addresses`,
    )
  const host = hostOf(where)
  if (host === undefined) return fault(`/${where.name}/ is not an address for TCP`)
  if (host.kind !== 'dnsaddr' || tcp !== undefined) {
    if (tcp?.name !== 'tcp') return fault(`no /tcp/<port> after /${where.name}/`, 'OP Stack nodes use TCP only')
    if (others.length > 0) {
      return fault(`/${others.map(({ name }) => name).join('/')} after the port`, 'OP Stack nodes use plain TCP only')
    }
  }
  const tcpPort = tcp === undefined ? undefined : Number(tcp.value)
  if (tcpPort === 0) return fault('port 0', 'expected the port of the node, 9222 by default')
  try {
    if (id !== undefined) parsePeerId(id)
  } catch (error) {
    return fault(describeError(error))
  }
  return { kind: 'multiaddress', text, peerId: id, host, tcpPort, discovery: undefined, record: undefined }
}

function hostOf({ name, value = '' }: Component): TargetHost | undefined {
  switch (name) {
    case 'ip4':
    case 'ip6':
      return { kind: 'ip', ip: normalizeIp(value) }
    case 'dns':
      return { kind: 'dns', name: value, family: 0 }
    case 'dns4':
      return { kind: 'dns', name: value, family: 4 }
    case 'dns6':
      return { kind: 'dns', name: value, family: 6 }
    case 'dnsaddr':
      return { kind: 'dnsaddr', name: value }
    default:
      return undefined
  }
}

/** The usual mistakes are a name with an IP protocol, and an IP with a name protocol. */
function hintFor(text: string): string {
  const [, protocol, value = ''] = /^\/(ip4|ip6|dns4|dns6|dns)\/([^/]+)/.exec(text) ?? []
  if (protocol === 'ip4' && isIP(value) === 6) return `${value} is an IPv6 address: /ip6/${value}/…`
  if (protocol === 'ip6' && isIP(value) === 4) return `${value} is an IPv4 address: /ip4/${value}/…`
  if (protocol?.startsWith('ip') && isIP(value) === 0 && /[a-z]/i.test(value))
    return `${value} looks like a name: /dns4/${value}/…`
  return EXPECTED
}

/** The probable meaning of `1.2.3.4:9222`, `name:9222` or a bare peer id. */
function guess(text: string): string | undefined {
  const [, host, port] = /^(?:\w+:\/\/)?(\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})\/?$/i.exec(text) ?? []
  if (host !== undefined && port !== undefined) {
    const bare = host.replace(/^\[|\]$/g, '')
    const protocol = { 0: 'dns4', 4: 'ip4', 6: 'ip6' }[isIP(bare)] ?? 'dns4'
    return `did you mean /${protocol}/${bare}/tcp/${port}/p2p/<peer id>?`
  }
  try {
    parsePeerId(text)
    return 'a peer id alone works only for a peer that the node at --rpc knows. Otherwise: /ip4/<ip>/tcp/<port>/p2p/<this id>'
  } catch {
    return undefined
  }
}
