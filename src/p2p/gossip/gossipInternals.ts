import type { PeerId } from '@libp2p/interface'
import { checkMembers } from '../libraryMembers.ts'
import type { TopicParams } from '../score/topicScores.ts'
import type { MessageHistory } from './tellableBlocks.ts'

/** Counters of one peer on one scored topic, as the library keeps them. */
export interface TopicCounters {
  inMesh: boolean
  /** Unix milliseconds of the last time that it came into the mesh. */
  graftTime: number
  /** Milliseconds. */
  meshTime: number
  firstMessageDeliveries: number
  meshMessageDeliveries: number
  /** The delivery rate counts: it has been in the mesh for long enough. */
  meshMessageDeliveriesActive: boolean
  /** Squared shortfalls of the times that it left the mesh. */
  meshFailurePenalty: number
  invalidMessageDeliveries: number
}

export interface PeerCounters {
  connected: boolean
  /** Unix milliseconds: of a peer that is gone, until when its counters are kept. */
  expire: number
  topics: Record<string, TopicCounters>
  knownIPs: Set<string>
  behaviourPenalty: number
}

/** One IHAVE or IDONTWANT, as far as both have the same members. */
export interface MessageIdList {
  messageIDs: Uint8Array[]
}

/** An RPC as the library builds it, as far as it is looked into here. */
interface OutgoingRpc {
  control?: { idontwant?: MessageIdList[] }
}

type SelectPeers = (topic: string, source?: string, exclude?: Set<string>) => Set<string>

/** The members of the library's gossipsub class that its published type leaves out. */
export interface GossipInternals {
  readonly mesh: Map<string, Set<string>>
  /** Topic → subscribed peers. */
  readonly topics: Map<string, Set<string>>
  readonly peers: Map<string, PeerId>
  readonly streamsOutbound: Map<string, unknown>
  readonly mcache: MessageHistory
  readonly score: {
    readonly peerStats: Map<string, PeerCounters>
    readonly peerIPs: Map<string, Set<string>>
    readonly params: { topics: Record<string, TopicParams>; retainScore: number }
    /** Its answers of the last half a second. */
    readonly scoreCache: Map<string, unknown>
    score(peerId: string): number
    addPeer(peerId: string): void
    removePeer(peerId: string): void
    addIP(peerId: string, ip: string): void
    removeIP(peerId: string, ip: string): void
    graft(peerId: string, topic: string): void
    addPenalty(peerId: string, penalty: number, label: string): void
    duplicateMessage(from: string, id: string, topic: string): void
    /** `peers`: who has sent the message, unless it was found invalid. */
    readonly deliveryRecords: { getRecord(id: string): { peers: Set<string> } | undefined }
  }
  readonly gossipTracer: {
    /** Id as inside → peers asked for it, with the time by which it must be here. */
    readonly promises: Map<string, Map<string, number>>
    deliverMessage(id: string): void
  }
  readonly heartbeatTicks: number
  /** Topic → peers that were pruned, with the Unix milliseconds until which they stay out of the mesh. */
  readonly backoff: Map<string, Map<string, number>>
  /** Peer → ids as inside → heartbeat of its word. */
  readonly idontwants: Map<string, Map<string, number>>
  /** Every half a second. */
  heartbeat(): Promise<void>
  handleIHave(peerId: string, ihave: MessageIdList[]): MessageIdList[]
  handleIdontwant(peerId: string, idontwant: MessageIdList[]): void
  /** Queues one IHAVE for the peer. */
  pushGossip(peerId: string, ihave: MessageIdList): void
  handleReceivedRpc(from: PeerId, rpc: OutgoingRpc): Promise<void>
  /** One message of an RPC. */
  handleReceivedMessage(from: PeerId, message: { data?: Uint8Array }): Promise<void>
  /** False when it could not be sent. */
  sendRpc(peerId: string, rpc: OutgoingRpc): boolean
  /** Sends IDONTWANT and what is published. Takes out of the set those that it could not be sent to. */
  sendRpcInBatch(peers: Set<string>, rpc: OutgoingRpc): void
  publish(topic: string, data: Uint8Array, options: { floodPublish: boolean }): Promise<{ recipients: PeerId[] }>
  selectPeersToForward: SelectPeers
  forwardMessage(id: string, message: { topic: string }, source?: string, exclude?: Set<string>): void
}

/** Release 17.1 of the library publishes neither its class nor these members. */
export function gossipInternals(instance: object): GossipInternals {
  checkGossipMembers(instance, {
    map: [
      'mesh',
      'topics',
      'peers',
      'streamsOutbound',
      'score.peerStats',
      'score.peerIPs',
      'score.scoreCache',
      'gossipTracer.promises',
      'idontwants',
      'backoff',
      'mcache.msgs',
    ],
    array: ['mcache.history'],
    object: ['score.params.topics'],
    number: ['heartbeatTicks', 'score.params.retainScore'],
    function: [
      'score.score',
      'score.duplicateMessage',
      'score.addPenalty',
      'score.addPeer',
      'score.removePeer',
      'score.addIP',
      'score.removeIP',
      'score.graft',
      'gossipTracer.deliverMessage',
      'heartbeat',
      'handleIHave',
      'handleIdontwant',
      'pushGossip',
      'handleReceivedRpc',
      'handleReceivedMessage',
      'sendRpc',
      'sendRpcInBatch',
      'publish',
      'selectPeersToForward',
      'forwardMessage',
      'score.deliveryRecords.getRecord',
    ],
  })
  return instance as GossipInternals
}

/** For every file that reaches into gossipsub: throws when this release has other members. */
export function checkGossipMembers(instance: object, expected: Parameters<typeof checkMembers>[1]): void {
  checkMembers(instance, expected, { library: 'gossipsub', code: 'gossip-library' })
}
