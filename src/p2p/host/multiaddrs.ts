import type { PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { DecodeError, describeError } from '../../lib/errors.ts'
import { normalizeIp } from '../../lib/ipNet.ts'
import { P2pError } from '../base/errors.ts'

/** An address, and the peer expected there. */
export interface PeerAddress {
  peerId: PeerId
  address: Multiaddr
}

/**
 * Canonical IP text of the address. An IPv4-mapped address is given as IPv4. Undefined for a host name or another
 * transport.
 */
export function ipOf(address: Multiaddr): string | undefined {
  for (const { name, value } of address.getComponents()) {
    if ((name === 'ip4' || name === 'ip6') && value !== undefined) return normalizeIp(value)
  }
  return undefined
}

/** The last peer id in the address; undefined when it has none. */
export function peerIdOf(address: Multiaddr): string | undefined {
  return address.getComponents().findLast(({ name }) => name === 'p2p')?.value
}

/** Throws P2pError `bad-peer-address`, also when `/p2p/<id>` is missing. */
export function parsePeerAddress(text: string): PeerAddress {
  try {
    if (!text.startsWith('/'))
      throw new DecodeError(`failed to parse multiaddr ${JSON.stringify(text)}: must begin with /`)
    const address = multiaddr(text)
    const id = peerIdOf(address)
    if (id === undefined) throw new DecodeError(`${text} has no /p2p/ part`)
    return { address, peerId: parsePeerId(id) }
  } catch (cause) {
    throw new P2pError('bad-peer-address', `bad peer address: ${describeError(cause)}`)
  }
}

/** Throws DecodeError. */
export function parsePeerId(text: string): PeerId {
  try {
    return peerIdFromString(text)
  } catch {
    // The library's own messages are for programmers: "Please pass a multibase decoder", "Invalid URL".
    throw new DecodeError('failed to parse peer ID: expected a whole one, such as 16Uiu2HA…')
  }
}

/** Appends `/p2p/<id>` unless the address has it. */
export function withPeerId(address: Multiaddr, peerId: PeerId): string {
  const text = address.toString()
  return text.includes('/p2p/') ? text : `${text}/p2p/${peerId.toString()}`
}

/** `/ip4/1.2.3.4/tcp/9222`. Port 0: the system chooses a port. */
export function tcpMultiaddr(ip: string, port: number): string {
  const canonical = normalizeIp(ip)
  return `/${canonical.includes(':') ? 'ip6' : 'ip4'}/${canonical}/tcp/${port}`
}
