import type { Connection, PeerId } from '@libp2p/interface'
import { DeviumError } from '../../lib/errors.ts'

/** Counters of one peer on one scored topic, as the library keeps them. */
export interface TopicCounters {
  inMesh: boolean
  /** Milliseconds. */
  meshTime: number
  firstMessageDeliveries: number
  meshMessageDeliveries: number
  invalidMessageDeliveries: number
}

export interface PeerCounters {
  connected: boolean
  topics: Record<string, TopicCounters>
  knownIPs: Set<string>
  behaviourPenalty: number
}

type SelectPeers = (topic: string, source?: string, exclude?: Set<string>) => Set<string>

/** The members of the library's gossipsub class that its published type leaves out. */
export interface GossipInternals {
  readonly mesh: Map<string, Set<string>>
  /** Topic → subscribed peers. */
  readonly topics: Map<string, Set<string>>
  readonly peers: Map<string, PeerId>
  readonly streamsOutbound: Map<string, unknown>
  readonly score: {
    readonly peerStats: Map<string, PeerCounters>
    readonly peerIPs: Map<string, Set<string>>
    score(peerId: string): number
    duplicateMessage(from: string, id: string, topic: string): void
  }
  publish(topic: string, data: Uint8Array, options: { floodPublish: boolean }): Promise<{ recipients: PeerId[] }>
  selectPeersToForward: SelectPeers
  /** By default the peer is forgotten, with its subscriptions, when any inbound stream of it ends with an error. */
  handlePeerReadStreamError(error: Error, peerId: PeerId): void
  /** As on a new connection: opens the stream to the peer when there is none. */
  onPeerConnected(peerId: PeerId, connection: Connection): void
}

/**
 * The one place that reaches into the library (release 17.1 publishes neither its class nor these members). Checks
 * each, so that a release that renames one fails at the start and not in the middle of the network.
 */
export function gossipInternals(instance: object): GossipInternals {
  const internals = instance as GossipInternals
  const present =
    internals.mesh instanceof Map &&
    internals.topics instanceof Map &&
    internals.peers instanceof Map &&
    internals.streamsOutbound instanceof Map &&
    internals.score?.peerStats instanceof Map &&
    internals.score.peerIPs instanceof Map &&
    typeof internals.score.score === 'function' &&
    typeof internals.score.duplicateMessage === 'function' &&
    typeof internals.publish === 'function' &&
    typeof internals.selectPeersToForward === 'function' &&
    typeof internals.handlePeerReadStreamError === 'function' &&
    typeof internals.onPeerConnected === 'function'
  if (!present) {
    throw new DeviumError('gossip-library', 'this release of gossipsub has other internals than the adapter knows', {
      severity: 'critical',
    })
  }
  return internals
}
