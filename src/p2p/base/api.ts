import type { HealthReport } from './healthReport.ts'
import type { P2pNews } from './news.ts'
import { perTerm, RESPONSE_TERMS, type ResponseTerm, type TopicTerm } from './scoreTerms.ts'

/**
 * What operators see and change: the `deviump2p` and `opp2p` namespaces are thin wrappers of `P2pApi`. All values are
 * plain JSON-ready data, so that the host may live in another thread.
 */

/** libp2p's codes as op-node prints them (go-libp2p `network.Connectedness`). */
export const CONNECTEDNESS = { notConnected: 0, connected: 1, limited: 4 } as const
export type Connectedness = (typeof CONNECTEDNESS)[keyof typeof CONNECTEDNESS]

/** Of the peer's first connection; inbound means that the peer dialled us (go-libp2p `network.Direction`). */
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
  /** Counters, summed over the scored block topics. */
  blocks: TopicScores
  IPColocationFactor: number
  behavioralPenalty: number
}

/** What is counted of each; a record shows op-node's three. */
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
  /** By any tag: static peers and those that an operator protected. */
  protected: boolean
  /** From discovery; 0 when unknown. */
  chainID: number
  /** Nanoseconds, smoothed; 0 when unknown. */
  latency: number
  /** Subscribed to any of the chain's block topics. */
  gossipBlocks: boolean
  scores: { gossip: GossipScores; reqResp: OpNodeResponses }
}

export interface PeerDump {
  totalConnected: number
  /** Keyed by peer id. */
  peers: Record<string, PeerRecord>
  /** Of these three, what the operator blocked: op-node shows no other bans here. */
  bannedPeers: string[]
  bannedIPS: string[]
  /** CIDR text; `cidrToIpNet` gives op-node's shape. */
  bannedSubnets: string[]
  /** Time-limited bans that stand. */
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
  /** Peers in the peer store as of the last minute, or connected; this node included. */
  known: number
}

/** What can change a peer's score or standing. */
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

/** One thing that happened, or several like it within a minute of each other. */
export interface PeerEvent {
  kind: PeerEventKind
  /** A short stable name: a reason of rejection, what the penalty is for, the cause of an end. */
  reason: string
  detail?: string
  /** The block that it was about, as its sender named it. */
  block?: { number: number; hash: string }
  /** Payload versions (1 to 4) of the topics concerned. */
  topics?: number[]
  count: number
  /** Unix milliseconds of the first and of the last of them. */
  firstMs: number
  lastMs: number
  /** The peer's total when the last of them was written down, before its effect. */
  score: number
}

export interface PeerHistory {
  peerID: string
  /** Oldest first. */
  events: Readonly<PeerEvent>[]
}

/** Something out of the peer's history that stands behind a part of its score. */
export type ScoreCause = Pick<PeerEvent, 'reason' | 'detail' | 'block' | 'topics' | 'count' | 'lastMs'>

/** A count, what it weighs, and what that makes. */
export interface ScoreTerm {
  value: number
  weight: number
  score: number
}

/** One topic that is scored, with its terms (`scoreTerms.ts`). */
export interface TopicScorePart extends Record<TopicTerm, ScoreTerm> {
  topic: string
  version: number
  inMesh: boolean
  topicWeight: number
  /** Sum of the terms by the topic's weight. */
  score: number
}

export interface IpScorePart {
  /** Of an IPv6 address its network, `…/64`, is a part too. */
  ip: string
  /** Peers on this IP, this one included. */
  peers: string[]
  /** Peers that may share an IP without loss. */
  threshold: number
  /** Of how many peers above the threshold, squared. */
  value: number
  weight: number
  score: number
  /** In a range that `--p2p.score.ip-exempt` names: costs nothing. */
  exempt: boolean
  /** That range. */
  exemptBy: string | null
}

/** Gossipsub's thresholds and what is withheld below each; `ban` is ours. */
export interface ScoreThreshold {
  name: 'mesh' | 'gossip' | 'publish' | 'graylist' | 'ban'
  value: number
  /** The total is below: this is in force. */
  below: boolean
  effect: string
  /** Seconds until that changes if nothing happens but decay; null: not within `forecastHorizonS`. */
  changesInS: number | null
}

/** Why a peer has the score that it has. The total is the sum of the parts. */
export interface PeerScoreReport {
  peerID: string
  /** False with `--p2p.scoring none`. */
  scored: boolean
  connected: boolean
  /** Static peers are never banned for their score. */
  static: boolean
  protected: boolean
  /** Whether it serves blocks by number, which costs no score where it does not; null: not known. */
  servesBlocks: boolean | null
  total: number
  /** The part that weighs most, in a few words. */
  mainReason: string
  topics: { score: number /** 0: none. */; cap: number; parts: TopicScorePart[] }
  application: { score: number } & Record<ResponseTerm, ScoreTerm>
  ipColocation: { score: number; parts: IpScorePart[] }
  behaviour: {
    score: number
    penalties: number
    /** Penalties that cost nothing. */
    threshold: number
    /** What is above, squared. */
    value: number
    weight: number
  }
  /** What stands behind the bad parts; latest first, a few of each. */
  causes: {
    /** Messages that count against it. */
    rejections: ScoreCause[]
    behaviour: ScoreCause[]
    /** Requests that failed, and false blocks. */
    application: ScoreCause[]
  }
  thresholds: ScoreThreshold[]
  /** Seconds that were looked ahead; 0 for a peer that is not connected, whose score stands still. */
  forecastHorizonS: number
  /** Seconds until what is known of a peer that is gone is forgotten; null when nothing is kept, or it is connected. */
  forgottenInS: number | null
  ban: BanRecord | null
  /** On the operator's block list. */
  blocked: boolean
  /** What an operator can do about it, one sentence each. */
  advice: string[]
  /** Entries of the block lists, and bans of IPs, that keep it out: what would have to be unblocked, and why it stands. */
  refusals: { subject: string; reason: string }[]
}

/** A time-limited ban that stands. */
export interface BanRecord {
  /** A peer id, or an IP. */
  subject: string
  kind: 'peer' | 'ip'
  reason: string
  /** Unix milliseconds. */
  untilMs: number
  remainingS: number
}

/** The form of a subject tells what is blocked. */
export function blockedKind(subject: string): BlockRecord['kind'] {
  if (subject.includes('/')) return 'subnet'
  return /^\d+\.[\d.]*$|:/.test(subject) ? 'address' : 'peer'
}

/** An entry of the operator's block lists. */
export interface BlockRecord {
  /** A peer id, an IP or a subnet in CIDR notation. */
  subject: string
  kind: 'peer' | 'address' | 'subnet'
  /** As the operator gave it; empty: none. */
  reason: string
  /** Unix milliseconds; null for one of a version that wrote no times. */
  sinceMs: number | null
}

/** Who may connect at all, as the operator says. */
export interface AccessRules {
  blocks: BlockRecord[]
  /** `--p2p.allow`: of a private network, who alone may connect beside the static peers; null: everybody. */
  allow: string[] | null
}

/** How one peer stands, without the reasons. */
export interface PeerStanding {
  peerID: string
  connected: boolean
  /** The total of its score. */
  score: number
  /** In our mesh of a topic, or we in its. */
  inMesh: boolean
  static: boolean
  protected: boolean
  /** On the operator's block list. */
  blocked: boolean
  ban: BanRecord | null
}

/**
 * Errors: `DecodeError` when an argument is no peer id, IP or subnet (JSON-RPC -32602), `P2pError` for the rest
 * (-32000). Unblocking, unprotecting or disconnecting what is not there succeeds.
 */
export interface P2pApi {
  self(): Promise<PeerRecord>
  /** All known peers, this node included, or the connected ones only. */
  peers(connectedOnly: boolean): Promise<PeerDump>
  peerStats(): Promise<PeerStats>
  /** ENR texts; throws P2pError `discovery-disabled`. */
  discoveryTable(): Promise<string[]>

  /**
   * Refuses the peer from now on and closes its connections at once; P2pError `own-peer-id` for this node. Survives a restart,
   * as all three block lists do.
   */
  blockPeer(peerId: string, reason?: string): Promise<void>
  /** Lifts a standing score ban as well, and forgives what led to it: the peer would be banned again at once. */
  unblockPeer(peerId: string): Promise<void>
  listBlockedPeers(): Promise<string[]>
  /** IPv4 or IPv6. Closes connections from there at once. */
  blockAddr(ip: string, reason?: string): Promise<void>
  unblockAddr(ip: string): Promise<void>
  listBlockedAddrs(): Promise<string[]>
  /** CIDR text (`10.1.0.0/16`, `fd00::/8`). Closes connections from there at once. */
  blockSubnet(cidr: string, reason?: string): Promise<void>
  unblockSubnet(cidr: string): Promise<void>
  /** CIDR texts. */
  listBlockedSubnets(): Promise<string[]>
  /** Blocks a peer, an address or a subnet, as the form of `subject` says. */
  block(subject: string, reason?: string): Promise<void>
  /** The block lists with reasons and times, and the allow-list. */
  accessRules(): AccessRules

  /**
   * Protection keeps the connection manager from pruning the peer; it bypasses neither blocks nor bans. Survives a
   * restart.
   */
  protectPeer(peerId: string): Promise<void>
  unprotectPeer(peerId: string): Promise<void>

  /** Dials `/ip4/…/tcp/…/p2p/<id>` and waits until the peer is identified; P2pError `bad-peer-address` or `dial-failed`. */
  connectPeer(multiaddr: string): Promise<void>
  /** Closes all connections, forgets the peer and lifts its block, as op-node does. */
  disconnectPeer(peerId: string): Promise<void>

  /** One peer, known or not, or all that are connected. */
  peerScore(peerId?: string): Promise<PeerScoreReport[]>
  /** One peer, or all of whom anything is written down. */
  peerHistory(peerId?: string): Promise<PeerHistory[]>
  /** Whether blocks come by gossip, and if not, why. */
  health(): Promise<HealthReport>
  /** Time-limited bans that stand, soonest to end first; the operator's block lists are not among them. */
  bans(): Promise<BanRecord[]>

  /** What the operator calls peers, by their ids: `--p2p.static` and `--p2p.names`. */
  names(): Readonly<Record<string, string>>

  /** Tells of peers and bans as it happens; the returned function ends that. */
  onNews(listener: (news: P2pNews) => void): () => void
  /** Of connected peers, and of those that are banned or blocked. */
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

/** What discovery writes into the peer store, as text. */
export const PEER_METADATA = { enr: 'ENR', chainId: 'ChainID' } as const
