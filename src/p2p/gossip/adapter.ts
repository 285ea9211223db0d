import type { GossipSub } from '@chainsafe/libp2p-gossipsub'
import type { RPC } from '@chainsafe/libp2p-gossipsub/message'
import type { PeerScore } from '@chainsafe/libp2p-gossipsub/score'
import type { RejectReason } from '@chainsafe/libp2p-gossipsub/types'
import type { Connection, PeerId, StreamCloseEvent } from '@libp2p/interface'
import { DeviumError } from '../../lib/errors.ts'

// Release 17.1 of gossipsub publishes its score keeper and its codec, but not its class and most of its members. Only
// this file knows those private members: which are used, which are replaced, and why. `adapter.test.ts` checks the
// lists against the real library.

/**
 * Counters of one peer. For a disconnected peer, `expire` is the Unix time in milliseconds until which they are kept.
 */
export type PeerCounters = PeerScore['peerStats'] extends Map<string, infer Counters> ? Counters : never
export type TopicCounters = PeerCounters['topics'][string]

/** The members of a decoded RPC that this room uses. */
export interface DecodedRpc {
  subscriptions: RPC.SubOpts[]
  messages: RPC.Message[]
  control?: Pick<RPC.ControlMessage, 'ihave' | 'idontwant' | 'prune'>
}

/** The members of an outgoing RPC that this room uses. */
export interface OutgoingRpc {
  subscriptions?: RPC.SubOpts[]
  messages?: RPC.Message[]
  control?: RPC.ControlMessage
}

/** One entry of the library's message cache. */
export interface CachedName {
  msgId: Uint8Array
  msgIdStr: string
  topic: string
}

/** The library's message cache, from which it answers IWANT. */
export interface MessageHistory {
  /** One list for each heartbeat, newest first. */
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

/** The members of the library's score keeper that block propagation uses. The library publishes this class. */
export interface ScoreKeeper extends Pick<PeerScore, 'peerStats' | 'scoreCache' | ScoreMethod> {
  /** `peers`: the senders of the message, unless it was found invalid. */
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

/** The members of the library's gossipsub class that this room uses. Few are published; the others are in `USED`. */
export interface GossipInternals extends Pick<GossipSub, 'getPeers' | 'getSubscribers' | 'getTopics'> {
  readonly mesh: Map<string, Set<string>>
  readonly streamsOutbound: Map<string, OutboundStream>
  readonly mcache: MessageHistory & {
    put(id: { msgId: Uint8Array; msgIdStr: string }, message: object, valid: boolean): void
  }
  readonly seenCache: { has(id: string): boolean; put(id: string): void }
  score: ScoreKeeper
  readonly gossipTracer: {
    /** Id (internal form) → peers that received an IWANT for it, with their deadline. */
    readonly promises: Map<string, Map<string, number>>
    deliverMessage(id: string, isDuplicate?: boolean): void
    rejectMessage(id: string, cause: RejectReason): void
  }
  readonly heartbeatTicks: number
  /** Topic → pruned peers, with the Unix time in milliseconds until which they may not be grafted. */
  readonly backoff: Map<string, Map<string, number>>
  /** Peer → ids (internal form) → heartbeat of the IDONTWANT. */
  readonly idontwants: Map<string, Map<string, number>>
  /** The library calls it for one peer at a time. */
  createOutboundStream(peerId: PeerId, connection: Connection): Promise<void>
  handleReceivedRpc(from: PeerId, rpc: DecodedRpc): Promise<void>
  /** Runs every half second. */
  heartbeat(): Promise<void>
  /** False when the RPC could not be sent. */
  sendRpc(peerId: string, rpc: OutgoingRpc): boolean
  publish(topic: string, data: Uint8Array, options: { floodPublish: boolean }): Promise<{ recipients: PeerId[] }>
}

type Kinds<Owner> = { readonly [Name in keyof Owner]: 'function' | 'number' | 'object' }

/** All used members that the library does not publish, grouped by owner. */
// biome-ignore format: lists of names
const USED: {
  gossip: Kinds<Omit<GossipInternals, 'getPeers' | 'getSubscribers' | 'getTopics'>>
  gossipTracer: Kinds<GossipInternals['gossipTracer']>; mcache: Kinds<GossipInternals['mcache']>
  seenCache: Kinds<GossipInternals['seenCache']>
} = {
  gossip: {
    mesh: 'object', streamsOutbound: 'object', backoff: 'object', mcache: 'object', seenCache: 'object', score: 'object',
    gossipTracer: 'object', idontwants: 'object', heartbeatTicks: 'number', createOutboundStream: 'function',
    handleReceivedRpc: 'function', heartbeat: 'function', sendRpc: 'function', publish: 'function',
  },
  gossipTracer: { promises: 'object', deliverMessage: 'function', rejectMessage: 'function' },
  mcache: { history: 'object', msgs: 'object', put: 'function' }, seenCache: { has: 'function', put: 'function' },
}

/** Throws DeviumError `gossipsub-unknown` when the library lacks a used member. */
export function gossipInternals(gossip: object): GossipInternals {
  for (const [owner, kinds] of Object.entries(USED)) {
    for (const [name, kind] of Object.entries(kinds)) {
      const found = typeof Reflect.get(owner === 'gossip' ? gossip : Reflect.get(gossip, owner), name)
      if (found !== kind) throw new DeviumError('gossipsub-unknown', `${owner}.${name} is ${found}, not ${kind}`)
    }
  }
  return gossip as GossipInternals
}

/** An RPC with these control messages. */
export function controlRpc(control: Partial<RPC.ControlMessage>): OutgoingRpc {
  const empty = { ihave: [], iwant: [], graft: [], prune: [], idontwant: [] }
  return { subscriptions: [], messages: [], control: { ...empty, ...control } }
}

export function subscribersOf(gossip: Pick<GossipInternals, 'getSubscribers'>, topic: string): string[] {
  return gossip.getSubscribers(topic).map((peer) => peer.toString())
}

export function peerNamed(gossip: Pick<GossipInternals, 'getPeers'>, id: string): PeerId | undefined {
  return gossip.getPeers().find((peer) => peer.toString() === id)
}

/** Builds a replacement from the original member. */
export type Around<Owner, Name extends keyof Owner> = (original: Owner[Name]) => Owner[Name]

export interface Replacements {
  score: PeerScore
  createOutboundStream: Around<GossipInternals, 'createOutboundStream'>
  heartbeat: Around<GossipInternals, 'heartbeat'>
  sendRpc: Around<GossipInternals, 'sendRpc'>
}

/** All replaced members of gossipsub, each with the reason. */
export const REPLACED: Readonly<Record<keyof Replacements, string>> = {
  score: 'scores survive disconnections and restarts, count IPv6 networks, and report penalties',
  createOutboundStream: 'the library opens one stream at a time; here they open in parallel and announce recent blocks',
  heartbeat: 'the library uses wall-clock times, which are adjusted when the clock is set',
  sendRpc: 'RPCs are counted as op-node’s tracer counts them',
}

export function replaceMembers(gossip: GossipInternals, by: Replacements): void {
  gossip.score = by.score
  gossip.createOutboundStream = by.createOutboundStream(gossip.createOutboundStream.bind(gossip))
  gossip.heartbeat = by.heartbeat(gossip.heartbeat.bind(gossip))
  gossip.sendRpc = by.sendRpc(gossip.sendRpc.bind(gossip))
}
