import type { RPC } from '@chainsafe/libp2p-gossipsub/message'
import type { PeerScore } from '@chainsafe/libp2p-gossipsub/score'
import type { RejectReason } from '@chainsafe/libp2p-gossipsub/types'
import type { Connection, PeerId, Stream, StreamCloseEvent } from '@libp2p/interface'
import { DeviumError } from '../../lib/errors.ts'

// Release 17.1 of gossipsub publishes neither its class nor most of its members. This file alone knows what it is made
// of: what is used, what is replaced, in which order and why. `adapter.test.ts` holds the lists to the real library.

/** Counters of one peer. Of one that is gone `expire` tells, in Unix milliseconds, until when they are kept. */
export type PeerCounters = PeerScore['peerStats'] extends Map<string, infer Counters> ? Counters : never
/** Those of one scored topic. */
export type TopicCounters = PeerCounters['topics'][string]

/** One IHAVE, IWANT or IDONTWANT, as far as all have the same members. */
export type MessageIdList = Pick<RPC.ControlIWant, 'messageIDs'>

/** An RPC as the library decodes it, as far as it is looked into here. */
export interface DecodedRpc {
  subscriptions: RPC.SubOpts[]
  messages: RPC.Message[]
  control?: { ihave: MessageIdList[]; idontwant: MessageIdList[]; prune: { backoff?: number }[] }
}

/** An RPC as the library builds it, as far as it is looked into here. */
export interface OutgoingRpc {
  subscriptions?: RPC.SubOpts[]
  messages?: RPC.Message[]
  control?: { idontwant?: MessageIdList[] }
}

/** One message of the library's cache. */
export interface CachedName {
  msgId: Uint8Array
  msgIdStr: string
  topic: string
}

/** The library's cache of messages, from which IWANT is answered. */
export interface MessageHistory {
  /** Of each heartbeat, the newest first. */
  readonly history: CachedName[][]
  readonly msgs: Map<string, { validated: boolean; message: { data?: Uint8Array } }>
}

interface InboundStream {
  readonly rawStream: Stream
  close(): Promise<void>
}

type ScoreMethod =
  | 'score'
  | 'addPeer'
  | 'removePeer'
  | 'addIP'
  | 'removeIP'
  | 'graft'
  | 'validateMessage'
  | 'deliverMessage'
  | 'duplicateMessage'
  | 'rejectMessage'
  | 'rejectInvalidMessage'

export interface ScoreInternals extends Pick<PeerScore, 'peerStats' | ScoreMethod> {
  readonly params: Pick<PeerScore['params'], 'topics' | 'retainScore'>
  readonly peerIPs: Map<string, Set<string>>
  /** Its answers of the last half a second. */
  readonly scoreCache: Map<string, unknown>
  /** `peers`: who has sent the message, unless it was found invalid. */
  readonly deliveryRecords: { getRecord(id: string): { peers: Set<string> } | undefined }
  addPenalty(peerId: string, penalty: number, label: string): void
}

/** The members of the library's gossipsub class that its published type leaves out. */
export interface GossipInternals {
  readonly mesh: Map<string, Set<string>>
  /** Topic → subscribed peers. */
  readonly topics: Map<string, Set<string>>
  readonly peers: Map<string, PeerId>
  readonly streamsInbound: Map<string, InboundStream>
  readonly streamsOutbound: Map<
    string,
    {
      close(): Promise<void>
      readonly rawStream: {
        readonly status: string
        addEventListener(type: 'close', listener: (event: StreamCloseEvent) => void): void
      }
    }
  >
  /** Peers that speak floodsub only: they are in no mesh, and get everything. */
  readonly floodsubPeers: Set<string>
  readonly mcache: MessageHistory & {
    put(id: { msgId: Uint8Array; msgIdStr: string }, message: object, valid: boolean): void
  }
  readonly seenCache: { has(id: string): boolean; put(id: string): void }
  readonly score: ScoreInternals
  readonly gossipTracer: {
    /** Id as inside → peers asked for it, with the time by which it must be here. */
    readonly promises: Map<string, Map<string, number>>
    deliverMessage(id: string, isDuplicate?: boolean): void
    rejectMessage(id: string, cause: RejectReason): void
  }
  readonly heartbeatTicks: number
  /** Topic → peers that were pruned, with the Unix milliseconds until which they stay out of the mesh. */
  readonly backoff: Map<string, Map<string, number>>
  /** Peer → ids as inside → heartbeat of its word. */
  readonly idontwants: Map<string, Map<string, number>>
  createInboundStream(peerId: PeerId, stream: Stream): void
  /** Called for one peer after the other, each when the one before is done. */
  createOutboundStream(peerId: PeerId, connection: Connection): Promise<void>
  /** The peer is forgotten, with its subscriptions. */
  handlePeerReadStreamError(error: Error, peerId: PeerId): void
  removePeer(peerId: PeerId): void
  /** Throws what it likes on damaged bytes. */
  decodeRpc(bytes: Uint8Array): DecodedRpc
  handleReceivedRpc(from: PeerId, rpc: DecodedRpc): Promise<void>
  /** Every half a second. */
  heartbeat(): Promise<void>
  /** Queues one IHAVE for the peer. */
  pushGossip(peerId: string, ihave: MessageIdList & { topicID: string }): void
  sendIDontWants(id: Uint8Array, topic: string, source: string): void
  /** False when it could not be sent. */
  sendRpc(peerId: string, rpc: OutgoingRpc): boolean
  /** Sends IDONTWANT and what is published. Takes out of the set those that it could not be sent to. */
  sendRpcInBatch(peers: Set<string>, rpc: OutgoingRpc): void
  publish(topic: string, data: Uint8Array, options: { floodPublish: boolean }): Promise<{ recipients: PeerId[] }>
}

type Kinds<Owner> = { readonly [Name in keyof Owner]: 'function' | 'number' | 'object' }

/** Every member that is used, by what has it. */
// biome-ignore format: lists of names
const USED: {
  gossip: Kinds<GossipInternals>; score: Kinds<ScoreInternals>
  gossipTracer: Kinds<GossipInternals['gossipTracer']>; mcache: Kinds<GossipInternals['mcache']>
  seenCache: Kinds<GossipInternals['seenCache']>
} = {
  gossip: {
    mesh: 'object', topics: 'object', peers: 'object', streamsInbound: 'object', streamsOutbound: 'object', backoff: 'object',
    floodsubPeers: 'object', mcache: 'object', seenCache: 'object', score: 'object', gossipTracer: 'object',
    idontwants: 'object', heartbeatTicks: 'number', createInboundStream: 'function', createOutboundStream: 'function',
    handlePeerReadStreamError: 'function', removePeer: 'function', decodeRpc: 'function', handleReceivedRpc: 'function',
    heartbeat: 'function', pushGossip: 'function', sendIDontWants: 'function', sendRpc: 'function',
    sendRpcInBatch: 'function', publish: 'function',
  },
  score: {
    peerStats: 'object', params: 'object', peerIPs: 'object', scoreCache: 'object', deliveryRecords: 'object',
    score: 'function', addPeer: 'function', removePeer: 'function', addIP: 'function', removeIP: 'function',
    graft: 'function', validateMessage: 'function', deliverMessage: 'function', duplicateMessage: 'function',
    rejectMessage: 'function', rejectInvalidMessage: 'function', addPenalty: 'function',
  },
  gossipTracer: { promises: 'object', deliverMessage: 'function', rejectMessage: 'function' },
  mcache: { history: 'object', msgs: 'object', put: 'function' }, seenCache: { has: 'function', put: 'function' },
}

/** Throws DeviumError `gossipsub-unknown` when the library lacks a member that is used here. */
export function gossipInternals(gossip: object): GossipInternals {
  for (const [owner, kinds] of Object.entries(USED)) {
    for (const [name, kind] of Object.entries(kinds)) {
      const found = typeof Reflect.get(owner === 'gossip' ? gossip : Reflect.get(gossip, owner), name)
      if (found !== kind) throw new DeviumError('gossipsub-unknown', `${owner}.${name} is ${found}, not ${kind}`)
    }
  }
  return gossip as GossipInternals
}

/** What takes a member's place, made of what it was. */
export type Around<Owner, Name extends keyof Owner> = (original: Owner[Name]) => Owner[Name]

/** What gossipsub is given instead of its own members. */
export interface Replacements {
  inbound: Pick<GossipInternals, 'createInboundStream'>
  streams: { createOutboundStream: Around<GossipInternals, 'createOutboundStream'> }
  wallClock: { heartbeat: Around<GossipInternals, 'heartbeat'> }
  counts: {
    sendRpc: Around<GossipInternals, 'sendRpc'>
    sendRpcInBatch: Around<GossipInternals, 'sendRpcInBatch'>
  }
  retained: {
    addPeer: Around<ScoreInternals, 'addPeer'>
    removePeer: Around<ScoreInternals, 'removePeer'>
    graft: Around<ScoreInternals, 'graft'>
  }
  addIP: Around<ScoreInternals, 'addIP'>
  addPenalty: Around<ScoreInternals, 'addPenalty'>
}

interface Replaced {
  member: string
  reason: string
  put(gossip: GossipInternals, by: Replacements): void
}

/** Every member of gossipsub that is replaced, in the order in which that happens, and why. */
export const REPLACED: readonly Replaced[] = [
  {
    member: 'createInboundStream',
    reason: 'frames are read and blocks judged here, within limits; the library decodes whatever comes',
    put(gossip, { inbound }) {
      gossip.createInboundStream = inbound.createInboundStream
    },
  },
  {
    member: 'createOutboundStream',
    reason: 'peers wait for each other; here they do not, and a newcomer hears of the last blocks',
    put: (gossip, { streams }) => replace(gossip, 'createOutboundStream', streams.createOutboundStream),
  },
  {
    member: 'heartbeat',
    reason: 'its moments go by the machine’s clock, and are moved along when that is set',
    put: (gossip, { wallClock }) => replace(gossip, 'heartbeat', wallClock.heartbeat),
  },
  {
    member: 'sendRpcInBatch',
    reason: 'RPCs are counted as op-node’s tracer does',
    put: (gossip, { counts }) => replace(gossip, 'sendRpcInBatch', counts.sendRpcInBatch),
  },
  {
    member: 'sendRpc',
    reason: 'RPCs that are sent one by one are counted likewise',
    put: (gossip, { counts }) => replace(gossip, 'sendRpc', counts.sendRpc),
  },
  {
    member: 'score.addPeer',
    reason: 'it starts a peer that comes back anew, which would wipe out a bad score',
    put: ({ score }, { retained }) => replace(score, 'addPeer', retained.addPeer),
  },
  {
    member: 'score.removePeer',
    reason: 'how a peer stood is written down when it leaves, and offences outlive that',
    put: ({ score }, { retained }) => replace(score, 'removePeer', retained.removePeer),
  },
  {
    member: 'score.graft',
    reason: 'time in the mesh goes on after a restart',
    put: ({ score }, { retained }) => replace(score, 'graft', retained.graft),
  },
  {
    member: 'score.addIP',
    reason: 'it counts IPv6 peers by address; whoever has one address of a /64 has them all',
    put: ({ score }, { addIP }) => replace(score, 'addIP', addIP),
  },
  {
    member: 'score.addPenalty',
    reason: 'what the library blames a peer for is told',
    put: ({ score }, { addPenalty }) => replace(score, 'addPenalty', addPenalty),
  },
]

export function replaceMembers(gossip: GossipInternals, by: Replacements): void {
  for (const { put } of REPLACED) put(gossip, by)
}

export function replace<Owner, Name extends keyof Owner>(owner: Owner, name: Name, around: Around<Owner, Name>): void {
  const original = owner[name]
  owner[name] = around(typeof original === 'function' ? original.bind(owner) : original)
}
