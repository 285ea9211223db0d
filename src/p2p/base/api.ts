import type { HealthReport } from './healthReport.ts'
import type { P2pNotification } from './notifications.ts'
import { perTerm, RESPONSE_TERMS, type ResponseTerm, type TopicTerm } from './scoreTerms.ts'

/**
 * The operators' interface. The RPC namespaces `deviump2p` and `opp2p` are thin wrappers of `P2pApi`. All values are
 * plain JSON-ready data, so that the host may run in another thread.
 */

/** libp2p's codes, as op-node prints them (go-libp2p `network.Connectedness`). */
export const CONNECTEDNESS = { notConnected: 0, connected: 1, limited: 4 } as const
export type Connectedness = (typeof CONNECTEDNESS)[keyof typeof CONNECTEDNESS]

/** Direction of the peer's first connection. Inbound: the peer dialled us (go-libp2p `network.Direction`). */
export const DIRECTION = { unknown: 0, inbound: 1, outbound: 2 } as const
export type Direction = (typeof DIRECTION)[keyof typeof DIRECTION]

export interface TopicScores {
  /** Seconds. */
  timeInMesh: number
  firstMessageDeliveries: number
  meshMessageDeliveries: number
  invalidMessageDeliveries: number
}

export interface GossipScores {
  /** The weighted sum that gossipsub acts on. */
  total: number
  /** Counters, summed over all scored block topics. */
  blocks: TopicScores
  IPColocationFactor: number
  behavioralPenalty: number
}

/** A counter for each response term. An RPC record shows only op-node's three. */
export type ReqRespScores = Record<ResponseTerm, number>
export type OpNodeResponses = Pick<ReqRespScores, 'validResponses' | 'errorResponses' | 'rejectedPayloads'>

export interface PeerScores {
  gossip: GossipScores
  reqResp: ReqRespScores
}

/** One peer as `opp2p_self` and `opp2p_peers` show it. */
export interface PeerRecord {
  /** base58btc. */
  peerID: string
  /** discv5 node id: 64 hex digits without 0x, zeros when the public key is unknown. */
  nodeID: string
  /** Identify's agent version; empty when unknown. */
  userAgent: string
  protocolVersion: string
  /** `enr:…`, empty when unknown. */
  ENR: string
  /** Multiaddresses that end in `/p2p/<peer id>`; null when none is known. */
  addresses: string[] | null
  protocols: string[] | null
  connectedness: Connectedness
  direction: Direction
  /** Protected by any tag: static peers, and peers that an operator protected. */
  protected: boolean
  /** The chain id that discovery found; 0 when unknown. */
  chainID: number
  /** Nanoseconds, smoothed; 0 when unknown. */
  latency: number
  /** The peer subscribes to at least one of the chain's block topics. */
  gossipBlocks: boolean
  scores: { gossip: GossipScores; reqResp: OpNodeResponses }
}

export interface PeerDump {
  totalConnected: number
  /** Keyed by peer id. */
  peers: Record<string, PeerRecord>
  /** The next three lists hold operator's blocks only. op-node shows no other bans here. */
  bannedPeers: string[]
  bannedIPS: string[]
  /** CIDR text; `cidrToIpNet` gives op-node's shape. */
  bannedSubnets: string[]
  timeBans: { peers: string[]; ips: string[] }
}

export interface PeerStats {
  connected: number
  /** Size of the discovery table. */
  table: number
  /** Peers on the topic of each payload version. */
  blocksTopic: number
  blocksTopicV2: number
  blocksTopicV3: number
  blocksTopicV4: number
  /** Peers on the operator's block list. */
  banned: number
  /** Peers with a time-limited ban that are not on the block list as well. */
  timeBanned: number
  /** Peers in the peer store (read at most a minute ago) and connected peers, including this node. */
  known: number
}

/** Events that can change a peer's score or its access. */
export const PEER_EVENT_KINDS = [
  'connected',
  'disconnected',
  'graft',
  'prune',
  'reject',
  'ignore',
  'behaviour',
  'response',
  'ban',
  'unban',
  'block',
  'unblock',
] as const
export type PeerEventKind = (typeof PEER_EVENT_KINDS)[number]

/** One event, or several equal events that happened within a minute of each other. */
export interface PeerEvent {
  kind: PeerEventKind
  /** A short stable name: the reason of a rejection, the cause of a penalty, or the cause of a disconnection. */
  reason: string
  detail?: string
  /** The block concerned, as its sender named it. */
  block?: { number: number; hash: string }
  /** Payload versions (1 to 4) of the topics concerned. */
  topics?: number[]
  count: number
  /** Unix milliseconds of the first and the last of these events. */
  firstMs: number
  lastMs: number
  /** The peer's total score when the last event was recorded, before that event took effect. */
  score: number
}

export interface PeerHistory {
  peerID: string
  /** Oldest first. */
  events: Readonly<PeerEvent>[]
}

/** An event of the peer's history that explains a part of its score. */
export type ScoreCause = Pick<PeerEvent, 'reason' | 'detail' | 'block' | 'topics' | 'count' | 'lastMs'>

/** A counter, its weight, and the resulting score. */
export interface ScoreTerm {
  value: number
  weight: number
  score: number
}

export interface TopicScorePart extends Record<TopicTerm, ScoreTerm> {
  topic: string
  version: number
  inMesh: boolean
  topicWeight: number
  /** The sum of the terms, multiplied by the topic's weight. */
  score: number
}

export interface IpScorePart {
  /** An IPv6 address has a second part for its network (`…/64`). */
  ip: string
  /** Peers on this IP, including this one. */
  peers: string[]
  /** This many peers may share an IP without a penalty. */
  threshold: number
  /** The number of peers above the threshold, squared. */
  value: number
  weight: number
  score: number
  /** The IP is in a range of `--p2p.score.ip-exempt`, so it costs nothing. */
  exempt: boolean
  exemptBy: string | null
}

/** Gossipsub's thresholds, and what each withholds below it. `ban` is devium's own. */
export interface ScoreThreshold {
  name: 'mesh' | 'gossip' | 'publish' | 'graylist' | 'ban'
  value: number
  /** True: the total is below the threshold, so the threshold is in force. */
  below: boolean
  effect: string
  /** Seconds until `below` changes if only decay acts; null: not within `forecastHorizonS`. */
  changesInS: number | null
}

/** Explains a peer's score. The total is the sum of the parts. */
export interface PeerScoreReport {
  peerID: string
  /** False with `--p2p.scoring none`. */
  scored: boolean
  connected: boolean
  /** Static peers are never banned for their score. */
  static: boolean
  protected: boolean
  /**
   * Whether the peer serves blocks by number; null: unknown. A peer that does not serve blocks loses no score for it.
   */
  servesBlocks: boolean | null
  total: number
  /** The part with the largest effect, in a few words. */
  mainReason: string
  topics: {
    score: number
    /** 0: no cap. */
    cap: number
    parts: TopicScorePart[]
  }
  application: { score: number } & Record<ResponseTerm, ScoreTerm>
  ipColocation: { score: number; parts: IpScorePart[] }
  behaviour: {
    score: number
    penalties: number
    /** This many penalties cost nothing. */
    threshold: number
    /** The penalties above the threshold, squared. */
    value: number
    weight: number
  }
  /** Events behind the negative parts: a few of each kind, latest first. */
  causes: {
    /** Messages that count against the peer. */
    rejections: ScoreCause[]
    behaviour: ScoreCause[]
    /** Failed requests and false blocks. */
    application: ScoreCause[]
  }
  thresholds: ScoreThreshold[]
  /** The forecast covers this many seconds. 0: the peer is not connected, so its score does not change. */
  forecastHorizonS: number
  /** Seconds until a disconnected peer's record is dropped; null: nothing is kept, or the peer is connected. */
  forgottenInS: number | null
  ban: BanRecord | null
  blocked: boolean
  /** One sentence for each action that an operator can take. */
  advice: string[]
  /** The block-list entries and IP bans that refuse this peer. To let the peer in, remove them. */
  refusals: { subject: string; reason: string }[]
}

export interface BanRecord {
  /** A peer id, or an IP. */
  subject: string
  kind: 'peer' | 'ip'
  reason: string
  /** Unix milliseconds. */
  untilMs: number
  remainingS: number
}

/** Derives the kind of block from the form of the subject. */
export function blockedKind(subject: string): BlockRecord['kind'] {
  if (subject.includes('/')) return 'subnet'
  return /^\d+\.[\d.]*$|:/.test(subject) ? 'address' : 'peer'
}

export interface BlockRecord {
  /** A peer id, an IP or a subnet in CIDR notation. */
  subject: string
  kind: 'peer' | 'address' | 'subnet'
  /** The operator's own words; may be empty. */
  reason: string
  /** Unix milliseconds. Null: written by a version that kept no times. */
  sinceMs: number | null
}

export interface AccessRules {
  blocks: BlockRecord[]
  /** `--p2p.allow`: in a private network, only these and the static peers may connect. Null: every peer may connect. */
  allow: string[] | null
}

/** A peer's state, without the reasons. */
export interface PeerStanding {
  peerID: string
  connected: boolean
  score: number
  /** The peer is in our mesh of a topic, or we are in its mesh. */
  inMesh: boolean
  static: boolean
  protected: boolean
  blocked: boolean
  ban: BanRecord | null
}

/**
 * Errors: `DecodeError` when an argument is not a peer id, IP or subnet (JSON-RPC -32602); `P2pError` for everything
 * else (-32000). Unblocking, unprotecting or disconnecting an absent subject succeeds.
 */
export interface P2pApi {
  self(): Promise<PeerRecord>
  /** Connected peers only, or all known peers including this node. */
  peers(connectedOnly: boolean): Promise<PeerDump>
  peerStats(): Promise<PeerStats>
  /** ENR texts; throws P2pError `discovery-disabled`. */
  discoveryTable(): Promise<string[]>

  /**
   * Refuses the peer from now on and closes its connections at once. Throws P2pError `own-peer-id` for this node. All
   * three block lists survive a restart.
   */
  blockPeer(peerId: string, reason?: string): Promise<void>
  /** Also lifts a score ban and resets the score that caused it. Otherwise the peer would be banned again at once. */
  unblockPeer(peerId: string): Promise<void>
  listBlockedPeers(): Promise<string[]>
  /** IPv4 or IPv6. Closes the connections of this address at once. */
  blockAddr(ip: string, reason?: string): Promise<void>
  unblockAddr(ip: string): Promise<void>
  listBlockedAddrs(): Promise<string[]>
  /** CIDR text (`10.1.0.0/16`, `fd00::/8`). Closes the connections of this subnet at once. */
  blockSubnet(cidr: string, reason?: string): Promise<void>
  unblockSubnet(cidr: string): Promise<void>
  /** CIDR texts. */
  listBlockedSubnets(): Promise<string[]>
  /** Blocks a peer, an address or a subnet; `blockedKind` decides by the form of `subject`. */
  block(subject: string, reason?: string): Promise<void>
  /** The block lists with reasons and times, and the allow list. */
  accessRules(): AccessRules

  /**
   * Protection keeps the connection trimmer from closing the peer's connections. It overrides neither blocks nor bans. Survives a
   * restart.
   */
  protectPeer(peerId: string): Promise<void>
  unprotectPeer(peerId: string): Promise<void>

  /**
   * Dials `/ip4/…/tcp/…/p2p/<id>` and resolves when the peer is identified. Throws P2pError `bad-peer-address` or
   * `dial-failed`.
   */
  connectPeer(multiaddr: string): Promise<void>
  /** Closes all connections, deletes the peer from the peer store and lifts its block, as op-node does. */
  disconnectPeer(peerId: string): Promise<void>

  /** One peer, known or unknown, or all connected peers. */
  peerScore(peerId?: string): Promise<PeerScoreReport[]>
  /** One peer, or all peers that have a record. */
  peerHistory(peerId?: string): Promise<PeerHistory[]>
  /** Reports whether blocks arrive by gossip, and the cause if they do not. */
  health(): Promise<HealthReport>
  /** Time-limited bans in force, soonest to expire first, without the operator's block lists. */
  bans(): Promise<BanRecord[]>

  /** The operator's names of peers, by peer id: `--p2p.static` and `--p2p.names`. */
  names(): Readonly<Record<string, string>>

  /** Calls the listener on events of peers and bans. The returned function unsubscribes. */
  onNotification(listener: (notification: P2pNotification) => void): () => void
  /** Connected, banned and blocked peers. */
  standings(): PeerStanding[]
}

export const ZERO_SCORES: PeerScores = {
  gossip: {
    total: 0,
    blocks: { timeInMesh: 0, firstMessageDeliveries: 0, meshMessageDeliveries: 0, invalidMessageDeliveries: 0 },
    IPColocationFactor: 0,
    behavioralPenalty: 0,
  },
  reqResp: perTerm(RESPONSE_TERMS, () => 0),
}

/** Keys of the peer store's metadata that discovery writes, as text. */
export const PEER_METADATA = { enr: 'ENR', chainId: 'ChainID' } as const
