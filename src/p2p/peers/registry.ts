import type { Clock } from '../../lib/clock.ts'
import type { PeerAddress } from '../host/multiaddrs.ts'
import type { AccessLists } from './accessLists.ts'
import type { Connections } from './connections.ts'

export type PeerRegistry = ReturnType<typeof createPeerRegistry>

export function createPeerRegistry(
  { clock, lists, connections }: { clock: Clock; lists: AccessLists; connections: Connections },
  staticPeers: readonly PeerAddress[],
) {
  const staticIds = new Set(staticPeers.map(({ peerId }) => peerId.toString()))
  return {
    connected: connections.peers,
    isConnected: connections.isConnected,
    isStatic: (peer: string): boolean => staticIds.has(peer),
    staticIds: (): string[] => [...staticIds],
    /** Static, or protected by the operator. */
    isProtected: (peer: string): boolean => staticIds.has(peer) || lists.protectedPeers.has(peer),
    /** Blocked or banned, so it may not connect. */
    isRefused: (peer: string): boolean =>
      lists.blockedPeers.has(peer) || lists.peerBan(peer, clock.now()) !== undefined,
  }
}
