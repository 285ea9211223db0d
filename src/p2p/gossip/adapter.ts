import type { GossipSub } from '@chainsafe/libp2p-gossipsub'
import type { RPC } from '@chainsafe/libp2p-gossipsub/message'
import type { PeerScore } from '@chainsafe/libp2p-gossipsub/score'
import type { RejectReason } from '@chainsafe/libp2p-gossipsub/types'
import type { Connection, PeerId, StreamCloseEvent } from '@libp2p/interface'
import { DeviumError } from '../../lib/errors.ts'

// Release 17.1 of gossipsub publishes its score keeper and its codec, but neither its class nor most of its members. This file
// alone knows those: which are used, which are replaced, and why. `adapter.test.ts` holds the lists to the real library.

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
  control?: RPC.ControlMessage
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

type ScoreMethod =
  | 'score'
  | 'validateMessage'
  | 'deliverMessage'
  | 'duplicateMessage'
  | 'rejectMessage'
  | 'rejectInvalidMessage'

/** The part of the library's score keeper, a class that it publishes, that is used while blocks travel. */
export interface ScoreKeeper extends Pick<PeerScore, 'peerStats' | 'scoreCache' | ScoreMethod> {
  /** `peers`: who has sent the message, unless it was found invalid. */
  readonly deliveryRecords: { getRecord(id: string): { peers: Set<string> } | undefined }
}

export interface OutboundStream {
  close(): Promise<void>
  readonly rawStream: {
    readonly status: string
    readonly protocol: string
    addEventListener(type: 'close', listener: (event: StreamCloseEvent) => void): void
  }
}

/** The members of the library's gossipsub class that are used: few are published, and the others are in `USED`. */
export interface GossipInternals extends Pick<GossipSub, 'getPeers' | 'getSubscribers' | 'getTopics'> {
  readonly mesh: Map<string, Set<string>>
  readonly streamsOutbound: Map<string, OutboundStream>
  readonly mcache: MessageHistory & {
    put(id: { msgId: Uint8Array; msgIdStr: string }, message: object, valid: boolean): void
  }
  readonly seenCache: { has(id: string): boolean; put(id: string): void }
  score: ScoreKeeper
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
  /** Called for one peer after the other, each when the one before is done. */
  createOutboundStream(peerId: PeerId, connection: Connection): Promise<void>
  handleReceivedRpc(from: PeerId, rpc: DecodedRpc): Promise<void>
  /** Every half a second. */
  heartbeat(): Promise<void>
  /** Queues one IHAVE for the peer. */
  pushGossip(peerId: string, ihave: MessageIdList & { topicID: string }): void
  /** False when it could not be sent. */
  sendRpc(peerId: string, rpc: OutgoingRpc): boolean
  publish(topic: string, data: Uint8Array, options: { floodPublish: boolean }): Promise<{ recipients: PeerId[] }>
}

type Kinds<Owner> = { readonly [Name in keyof Owner]: 'function' | 'number' | 'object' }

/** Every member that is used and not published, by what has it. */
// biome-ignore format: lists of names
const USED: {
  gossip: Kinds<Omit<GossipInternals, 'getPeers' | 'getSubscribers' | 'getTopics'>>
  gossipTracer: Kinds<GossipInternals['gossipTracer']>; mcache: Kinds<GossipInternals['mcache']>
  seenCache: Kinds<GossipInternals['seenCache']>
} = {
  gossip: {
    mesh: 'object', streamsOutbound: 'object', backoff: 'object', mcache: 'object', seenCache: 'object', score: 'object',
    gossipTracer: 'object', idontwants: 'object', heartbeatTicks: 'number', createOutboundStream: 'function',
    handleReceivedRpc: 'function', heartbeat: 'function', pushGossip: 'function', sendRpc: 'function', publish: 'function',
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

export function subscribersOf(gossip: Pick<GossipInternals, 'getSubscribers'>, topic: string): string[] {
  return gossip.getSubscribers(topic).map((peer) => peer.toString())
}

export function peerNamed(gossip: Pick<GossipInternals, 'getPeers'>, id: string): PeerId | undefined {
  return gossip.getPeers().find((peer) => peer.toString() === id)
}

/** What takes a member's place, made of what it was. */
export type Around<Owner, Name extends keyof Owner> = (original: Owner[Name]) => Owner[Name]

/** What gossipsub is given instead of its own members. */
export interface Replacements {
  score: PeerScore
  createOutboundStream: Around<GossipInternals, 'createOutboundStream'>
  heartbeat: Around<GossipInternals, 'heartbeat'>
  sendRpc: Around<GossipInternals, 'sendRpc'>
}

/** Every member of gossipsub that is replaced, and why. */
export const REPLACED: Readonly<Record<keyof Replacements, string>> = {
  score: 'scores outlive absences and restarts, count IPv6 networks, and tell of penalties',
  createOutboundStream: 'peers wait for each other; here they do not, and a newcomer hears of the last blocks',
  heartbeat: 'its moments go by the machine’s clock, and are moved along when that is set',
  sendRpc: 'RPCs are counted as op-node’s tracer does',
}

export function replaceMembers(gossip: GossipInternals, by: Replacements): void {
  gossip.score = by.score
  gossip.createOutboundStream = by.createOutboundStream(gossip.createOutboundStream.bind(gossip))
  gossip.heartbeat = by.heartbeat(gossip.heartbeat.bind(gossip))
  gossip.sendRpc = by.sendRpc(gossip.sendRpc.bind(gossip))
}
