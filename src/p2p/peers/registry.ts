import type { Clock } from '../../lib/clock.ts'
import type { PeerAddress } from '../host/multiaddrs.ts'
import type { AccessLists } from './accessLists.ts'
import type { Connections } from './connections.ts'

/** What is true of a peer. */
export interface PeerRegistry {
  connected(): string[]
  isConnected(peerId: string): boolean
  isStatic(peerId: string): boolean
  staticIds(): string[]
  /** Static, or protected by the operator. */
  isProtected(peerId: string): boolean
  /** Blocked or banned: may not connect. */
  isRefused(peerId: string): boolean
}

export function createPeerRegistry(
  { clock, lists, connections }: { clock: Clock; lists: AccessLists; connections: Connections },
  staticPeers: readonly PeerAddress[],
): PeerRegistry {
  const staticIds = new Set(staticPeers.map(({ peerId }) => peerId.toString()))
  return {
    connected: connections.peers,
    isConnected: connections.isConnected,
    isStatic: (peer) => staticIds.has(peer),
    staticIds: () => [...staticIds],
    isProtected: (peer) => staticIds.has(peer) || lists.protectedPeers.has(peer),
    isRefused: (peer) => lists.blockedPeers.has(peer) || (lists.peerBan(peer)?.expiryMs ?? 0) > clock.now(),
  }
}
