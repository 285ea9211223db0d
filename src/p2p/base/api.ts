import type { HealthReport } from './healthReport.ts'
import type { P2pNotification } from './notifications.ts'
import type {
  AccessRules,
  BanRecord,
  BlockRecord,
  GossipScores,
  PeerHistory,
  PeerRecord,
  PeerScoreReport,
  PeerStanding,
} from './schemas.ts'
import { perTerm, RESPONSE_TERMS, type ResponseTerm } from './scoreTerms.ts'

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

/** A counter for each response term. An RPC record shows only op-node's three. */
export type ReqRespScores = Record<ResponseTerm, number>

export interface PeerScores {
  gossip: GossipScores
  reqResp: ReqRespScores
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
  /** Peers with a time-limited ban. */
  timeBans: string[]
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

/** Derives the kind of block from the form of the subject. */
export function blockedKind(subject: string): BlockRecord['kind'] {
  if (subject.includes('/')) return 'subnet'
  return /^\d+\.[\d.]*$|:/.test(subject) ? 'address' : 'peer'
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
