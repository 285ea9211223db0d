import { z } from 'zod'
import { perTerm, RESPONSE_TERMS, TOPIC_TERMS } from './scoreTerms.ts'

// The records of `P2pApi`, as types and as the schemas that the RPC publishes.

export const moment = z.number().describe('Unix milliseconds')
const numbers = <K extends string>(...names: K[]) => z.record(z.enum(names), z.number())

/** Counters, summed over all scored block topics; the time in seconds. */
const topicScores = numbers('timeInMesh', 'firstMessageDeliveries', 'meshMessageDeliveries', 'invalidMessageDeliveries')
export type TopicScores = z.infer<typeof topicScores>

const gossipScores = z.object({
  /** The weighted sum that gossipsub acts on. */
  total: z.number(),
  blocks: topicScores,
  IPColocationFactor: z.number(),
  behavioralPenalty: z.number(),
})
export type GossipScores = z.infer<typeof gossipScores>

/** One peer as `deviump2p_self` and `deviump2p_peers` show it. */
export const peerRecord = z.object({
  /** base58btc. */
  peerID: z.string(),
  /** discv5 node id: 64 hex digits without 0x, zeros when the public key is unknown. */
  nodeID: z.string(),
  /** Identify's agent version; empty when unknown. */
  userAgent: z.string(),
  protocolVersion: z.string(),
  /** `enr:…`, empty when unknown. */
  ENR: z.string(),
  /** Multiaddresses that end in `/p2p/<peer id>`. */
  addresses: z.array(z.string()),
  protocols: z.array(z.string()).nullable(),
  connectedness: z
    .union([z.literal(0), z.literal(1), z.literal(4)])
    .describe('0 not connected, 1 connected, 4 limited'),
  direction: z.union([z.literal(0), z.literal(1), z.literal(2)]).describe('0 unknown, 1 inbound, 2 outbound'),
  /** Protected by any tag: static peers, and peers that an operator protected. */
  protected: z.boolean(),
  /** The chain id that discovery found; 0 when unknown. */
  chainID: z.number(),
  /** Smoothed; 0 when unknown. */
  latency: z.number().describe('nanoseconds'),
  /** The peer subscribes to at least one of the chain's block topics. */
  gossipBlocks: z.boolean(),
  scores: z.object({
    gossip: gossipScores,
    reqResp: numbers('validResponses', 'errorResponses', 'rejectedPayloads'),
  }),
})
export type PeerRecord = z.infer<typeof peerRecord>

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

/** An event of the peer's history that explains a part of its score. */
const scoreCause = z.object({
  /** A short stable name: the reason of a rejection, the cause of a penalty, or the cause of a disconnection. */
  reason: z.string(),
  detail: z.string().exactOptional(),
  /** The block concerned, as its sender named it. */
  block: z.object({ number: z.number(), hash: z.string() }).exactOptional(),
  /** Payload versions (1 to 4) of the topics concerned. */
  topics: z.array(z.number()).exactOptional(),
  count: z.number(),
  /** Time of the last of these events. */
  lastMs: moment,
})
export type ScoreCause = z.infer<typeof scoreCause>

/** One event, or several equal events that happened within a minute of each other. */
export const peerEvent = z.object({
  kind: z.enum(PEER_EVENT_KINDS),
  ...scoreCause.shape,
  firstMs: moment,
  /** The peer's total score when the last event was recorded, before that event took effect. */
  score: z.number(),
})
export type PeerEvent = z.infer<typeof peerEvent>

/** One peer in the result of deviump2p_peerHistory. Events: oldest first. */
export const peerHistory = z.object({ peerID: z.string(), events: z.array(peerEvent) })
export type PeerHistory = z.infer<typeof peerHistory>

/** A counter, its weight, and the resulting score. */
const scoreTerm = z.object({ value: z.number(), weight: z.number(), score: z.number() })
export type ScoreTerm = z.infer<typeof scoreTerm>

const topicScorePart = z.object({
  topic: z.string(),
  version: z.number(),
  inMesh: z.boolean(),
  topicWeight: z.number(),
  ...perTerm(TOPIC_TERMS, () => scoreTerm),
  /** The sum of the terms, multiplied by the topic's weight. */
  score: z.number(),
})
export type TopicScorePart = z.infer<typeof topicScorePart>

const ipScorePart = z.object({
  /** An IPv6 address has a second part for its network (`…/64`). */
  ip: z.string(),
  /** Peers on this IP, including this one. */
  peers: z.array(z.string()),
  /** This many peers may share an IP without a penalty. */
  threshold: z.number(),
  /** `value`: the number of peers above the threshold, squared. */
  ...scoreTerm.shape,
  /** The IP is in a range of `--p2p.score.ip-exempt`, so it costs nothing. */
  exempt: z.boolean(),
  exemptBy: z.string().nullable(),
})
export type IpScorePart = z.infer<typeof ipScorePart>

/** Gossipsub's thresholds, and what each withholds below it. `ban` is devium's own. */
const scoreThreshold = z.object({
  name: z.enum(['mesh', 'gossip', 'publish', 'graylist', 'ban']),
  value: z.number(),
  /** True: the total is below the threshold, so the threshold is in force. */
  below: z.boolean(),
  effect: z.string(),
  /** Seconds until `below` changes if only decay acts; null: not within `forecastHorizonS`. */
  changesInS: z.number().nullable(),
})
export type ScoreThreshold = z.infer<typeof scoreThreshold>

export const ban = z.object({
  /** A peer id. */
  subject: z.string(),
  /** This node bans peers only. */
  kind: z.enum(['peer', 'ip']),
  reason: z.string(),
  untilMs: moment,
  remainingS: z.number(),
})
export type BanRecord = z.infer<typeof ban>

/** One peer in the result of deviump2p_peerScore. The total is the sum of the parts. */
export const scoreReport = z.object({
  peerID: z.string(),
  /** False with `--p2p.scoring none`. */
  scored: z.boolean(),
  connected: z.boolean(),
  /** Static peers are never banned for their score. */
  static: z.boolean(),
  protected: z.boolean(),
  /**
   * Whether the peer serves blocks by number; null: unknown. A peer that does not serve blocks loses no score for it.
   */
  servesBlocks: z.boolean().nullable(),
  total: z.number(),
  /** The part with the largest effect, in a few words. */
  mainReason: z.string(),
  /** `cap` 0: no cap. */
  topics: z.object({ score: z.number(), cap: z.number(), parts: z.array(topicScorePart) }),
  application: z.object({ score: z.number(), ...perTerm(RESPONSE_TERMS, () => scoreTerm) }),
  ipColocation: z.object({ score: z.number(), parts: z.array(ipScorePart) }),
  /** `threshold`: this many penalties cost nothing. `value`: the penalties above the threshold, squared. */
  behaviour: z.object({ penalties: z.number(), threshold: z.number(), ...scoreTerm.shape }),
  /** Events behind the negative parts: a few of each kind, latest first. */
  causes: z.object({
    /** Messages that count against the peer. */
    rejections: z.array(scoreCause),
    behaviour: z.array(scoreCause),
    /** Failed requests and false blocks. */
    application: z.array(scoreCause),
  }),
  thresholds: z.array(scoreThreshold),
  /** The forecast covers this many seconds. 0: the peer is not connected, so its score does not change. */
  forecastHorizonS: z.number(),
  /** Seconds until a disconnected peer's record is dropped; null: nothing is kept, or the peer is connected. */
  forgottenInS: z.number().nullable(),
  ban: ban.nullable(),
  blocked: z.boolean(),
  /** One sentence for each action that an operator can take. */
  advice: z.array(z.string()),
  /** The block-list entries that refuse this peer. To let the peer in, remove them. */
  refusals: z.array(z.object({ subject: z.string(), reason: z.string() })),
})
export type PeerScoreReport = z.infer<typeof scoreReport>

const blockRecord = z.object({
  /** A peer id, an IP or a subnet in CIDR notation. */
  subject: z.string(),
  kind: z.enum(['peer', 'address', 'subnet']),
  /** The operator's own words; may be empty. */
  reason: z.string(),
  /** Null: written by a version that kept no times. */
  sinceMs: moment.nullable(),
})
export type BlockRecord = z.infer<typeof blockRecord>

/** The result of deviump2p_accessRules. */
export const accessRules = z.object({
  blocks: z.array(blockRecord),
  /** `--p2p.allow`: in a private network, only these and the static peers may connect. Null: every peer may connect. */
  allow: z.array(z.string()).nullable(),
})
export type AccessRules = z.infer<typeof accessRules>

/** A peer's state, without the reasons: one peer in the result of deviump2p_standings. */
export const standing = z.object({
  peerID: z.string(),
  connected: z.boolean(),
  score: z.number(),
  /** The peer is in our mesh of a topic, or we are in its mesh. */
  inMesh: z.boolean(),
  static: z.boolean(),
  protected: z.boolean(),
  blocked: z.boolean(),
  ban: ban.nullable(),
})
export type PeerStanding = z.infer<typeof standing>
