import type { ConnectionGater, MultiaddrConnection, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../../lib/clock.ts'
import type { AccessLists } from './accessLists.ts'
import type { InboundLimits } from './inboundLimits.ts'
import { ipOf } from './multiaddrs.ts'

/** What became of an attempt: counted by the metrics `p2p_dials` and `p2p_accepts`, and of bans that ran out. */
export interface GaterMetrics {
  onDial(allowed: boolean): void
  onAccept(allowed: boolean): void
  onPeerUnban(peerId: string, cause: 'expired' | 'lifted'): void
  onIpUnban(): void
}

/**
 * Refuses blocked and banned peers, addresses and subnets, at the points where op-node's gater does (before a dial,
 * at accept, after the handshake of an inbound connection), and again when a connection stands. A ban that has run out
 * is removed on the way.
 */
export function createGater(modules: {
  lists: AccessLists
  clock: Clock
  metrics: GaterMetrics
  /** Hears of each connection as soon as it stands. */
  onConnection(connection: MultiaddrConnection): void
  limits: InboundLimits
  /** Whether there is room for a peer that comes by itself: asked once it has proved who it is. */
  admits(peerId: string): boolean
}): ConnectionGater {
  const { lists, clock, metrics, onConnection, limits } = modules

  const isPeerDenied = (peerId: string): boolean => {
    if (lists.blockedPeers.has(peerId)) return true
    const ban = lists.peerBan(peerId)
    if (ban === undefined) return false
    if (ban.expiryMs > clock.now()) return true
    lists.unbanPeer(peerId)
    metrics.onPeerUnban(peerId, 'expired')
    return false
  }
  const isIpDenied = (ip: string | undefined): boolean => {
    if (ip === undefined) return false
    if (lists.isAddrBlocked(ip)) return true
    const ban = lists.ipBan(ip)
    if (ban === undefined) return false
    if (ban.expiryMs > clock.now()) return true
    lists.unbanIp(ip)
    metrics.onIpUnban()
    return false
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
    isPeerDenied(peerId.toString()) || isIpDenied(ipOf(connection.remoteAddr))
  return {
    denyDialPeer: (peerId) => dial(isPeerDenied(peerId.toString())),
    denyDialMultiaddr: (address: Multiaddr) => dial(isIpDenied(ipOf(address))),
    denyInboundConnection(connection: MultiaddrConnection) {
      onConnection(connection)
      const ip = ipOf(connection.remoteAddr)
      return accept(isIpDenied(ip) || (ip !== undefined && limits.refuse(ip, connection) !== undefined))
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
    denyInboundEncryptedConnection(peerId) {
      const id = peerId.toString()
      return isPeerDenied(id) || !modules.admits(id)
    },
    // A name that resolves to a blocked address is only known after the connection stands.
    denyOutboundEncryptedConnection: isRefusedByNow,
  }
}
