import type { ConnectionGater, MultiaddrConnection, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../../lib/clock.ts'
import type { P2pEvents } from '../base/events.ts'
import type { InboundLimits } from '../host/inboundLimits.ts'
import { ipOf, peerIdOf } from '../host/multiaddrs.ts'
import type { AccessLists } from './accessLists.ts'
import type { AllowList } from './allowList.ts'
import type { PeerRegistry } from './registry.ts'

/** What became of an attempt: counted by the metrics `p2p_dials` and `p2p_accepts`. */
export interface GaterMetrics {
  onDial(allowed: boolean): void
  onAccept(allowed: boolean): void
}

/**
 * Refuses blocked and banned peers, addresses and subnets, at the points where op-node's gater does (before a dial,
 * at accept, after the handshake of an inbound connection), and again when a connection stands. A ban that has run out
 * is removed on the way. With an allow-list everybody else is refused as soon as enough is known of him.
 */
export function createGater(modules: {
  lists: AccessLists
  allowed: AllowList
  clock: Clock
  events: Pick<P2pEvents, 'emit'>
  metrics: GaterMetrics
  /** Hears of each connection as soon as it stands. */
  onConnection(connection: MultiaddrConnection): void
  limits: InboundLimits
  peers: Pick<PeerRegistry, 'connected' | 'isConnected' | 'isProtected'>
  /** Peers that are let in; above, those that come by themselves are not. */
  maxPeers: number
}): ConnectionGater {
  const { lists, allowed, clock, events, metrics, onConnection, limits, peers } = modules

  const isPeerDenied = (peerId: string): boolean => {
    if (lists.blockedPeers.has(peerId)) return true
    const ban = lists.peerBan(peerId)
    if (ban === undefined) return false
    if (ban.expiryMs > clock.now()) return true
    lists.unbanPeer(peerId)
    events.emit('unbanned', peerId, 'expired')
    return false
  }
  const isIpDenied = (ip: string | undefined): boolean => {
    if (ip === undefined) return false
    if (lists.isAddrBlocked(ip)) return true
    const ban = lists.ipBan(ip)
    if (ban === undefined) return false
    if (ban.expiryMs > clock.now()) return true
    lists.unbanIp(ip)
    events.emit('ipUnbanned', ip, 'expired')
    return false
  }
  /** Whether there is room for a peer that comes by itself, once it has proved who it is. */
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
  /** What is blocked during its handshake, which may take seconds, is not among the connections that a block closes. */
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
    // A name that resolves to a blocked address is only known after the connection stands.
    denyOutboundEncryptedConnection: isRefusedByNow,
  }
}
