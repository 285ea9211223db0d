import type { ConnectionGater, MultiaddrConnection, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../../lib/clock.ts'
import type { P2pEvents } from '../base/events.ts'
import type { InboundLimits } from '../host/inboundLimits.ts'
import { ipOf, peerIdOf } from '../host/multiaddrs.ts'
import type { AccessLists } from './accessLists.ts'
import type { AllowList } from './allowList.ts'
import type { PeerRegistry } from './registry.ts'

/** The metrics `p2p_dials` and `p2p_accepts`. */
export interface GaterMetrics {
  onDial(allowed: boolean): void
  onAccept(allowed: boolean): void
}

/**
 * Refuses blocked and banned peers, addresses and subnets. It checks where op-node's gater does (before a dial, at
 * accept, after an inbound handshake), and again when a connection is established. An expired ban is removed on the
 * way. With an allow list, every other peer is refused as soon as its id or IP is known.
 */
export function createGater(modules: {
  lists: AccessLists
  allowed: AllowList
  clock: Clock
  events: Pick<P2pEvents, 'emit'>
  metrics: GaterMetrics
  /** Called with each connection as soon as it is open. */
  onConnection(connection: MultiaddrConnection): void
  limits: InboundLimits
  peers: Pick<PeerRegistry, 'connected' | 'isConnected' | 'isProtected'>
  /** Connection limit. Above it, inbound peers are refused. */
  maxPeers: number
}): ConnectionGater {
  const { lists, allowed, clock, events, metrics, onConnection, limits, peers } = modules

  const isPeerDenied = (peerId: string): boolean => {
    if (lists.blockedPeers.has(peerId) || lists.peerBan(peerId, clock.now()) !== undefined) return true
    if (lists.unbanPeer(peerId)) events.emit('unbanned', peerId, 'expired')
    return false
  }
  const isIpDenied = (ip: string | undefined): boolean => ip !== undefined && lists.isAddrBlocked(ip)
  /** True: the connection limit allows this inbound peer. Called after the peer has proved its identity. */
  const admits = (peerId: string): boolean => {
    if (peers.connected().length < modules.maxPeers) return true
    events.emit('full')
    return peers.isConnected(peerId) || peers.isProtected(peerId)
  }
  const dial = (denied: boolean): boolean => {
    metrics.onDial(!denied)
    return denied
  }
  const accept = (denied: boolean): boolean => {
    metrics.onAccept(!denied)
    return denied
  }
  /** A handshake may take seconds. A block in that time closes only established connections, so check again. */
  const isRefusedByNow = (peerId: PeerId, connection: MultiaddrConnection): boolean =>
    isPeerDenied(peerId.toString()) ||
    isIpDenied(ipOf(connection.remoteAddr)) ||
    allowed.permits(peerId.toString(), ipOf(connection.remoteAddr)) !== true
  const isAddressDenied = (address: Multiaddr): boolean => {
    const ip = ipOf(address)
    return isIpDenied(ip) || allowed.permits(peerIdOf(address), ip) === false
  }
  return {
    denyDialPeer(peerId) {
      const id = peerId.toString()
      return dial(isPeerDenied(id) || allowed.permits(id, undefined) === false)
    },
    denyDialMultiaddr: (address: Multiaddr) => dial(isAddressDenied(address)),
    denyInboundConnection(connection: MultiaddrConnection) {
      onConnection(connection)
      const ip = ipOf(connection.remoteAddr)
      const isRefused = isIpDenied(ip) || allowed.permits(undefined, ip) === false
      return accept(isRefused || (ip !== undefined && limits.refuse(ip, connection) !== undefined))
    },
    denyInboundUpgradedConnection(peerId, connection: MultiaddrConnection) {
      limits.onUpgraded(connection)
      return isRefusedByNow(peerId, connection)
    },
    denyOutboundUpgradedConnection: isRefusedByNow,
    denyOutboundConnection(_, connection: MultiaddrConnection) {
      onConnection(connection)
      return false
    },
    denyInboundEncryptedConnection(peerId, connection) {
      return isRefusedByNow(peerId, connection) || !admits(peerId.toString())
    },
    // The address behind a DNS name is known only after the connection is open.
    denyOutboundEncryptedConnection: isRefusedByNow,
  }
}
