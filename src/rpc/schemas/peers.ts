import { z } from 'zod'
import { perTerm, RESPONSE_TERMS, TOPIC_TERMS } from '../../p2p/base/scoreTerms.ts'

const moment = z.number().describe('Unix milliseconds')
const numbers = <K extends string>(...names: K[]) => z.record(z.enum(names), z.number())

export const peerRecord = z.object({
  peerID: z.string(),
  nodeID: z.string(),
  userAgent: z.string(),
  protocolVersion: z.string(),
  ENR: z.string(),
  addresses: z.array(z.string()).nullable(),
  protocols: z.array(z.string()).nullable(),
  connectedness: z
    .union([z.literal(0), z.literal(1), z.literal(4)])
    .describe('0 not connected, 1 connected, 4 limited'),
  direction: z.union([z.literal(0), z.literal(1), z.literal(2)]).describe('0 unknown, 1 inbound, 2 outbound'),
  protected: z.boolean(),
  chainID: z.number(),
  latency: z.number().describe('nanoseconds'),
  gossipBlocks: z.boolean(),
  scores: z.object({
    gossip: z.object({
      total: z.number(),
      blocks: numbers('timeInMesh', 'firstMessageDeliveries', 'meshMessageDeliveries', 'invalidMessageDeliveries'),
      IPColocationFactor: z.number(),
      behavioralPenalty: z.number(),
    }),
    reqResp: numbers('validResponses', 'errorResponses', 'rejectedPayloads'),
  }),
})

export const cidr = z.string()
/** Go's `net.IPNet`. The mask is base64. */
export const ipNet = z.object({ IP: z.string(), Mask: z.string() })

export const peerDump = <T extends z.ZodType>(subnet: T) =>
  z.object({
    totalConnected: z.number(),
    peers: z.record(z.string(), peerRecord),
    bannedPeers: z.array(z.string()),
    bannedIPS: z.array(z.string()),
    bannedSubnets: z.array(subnet),
  })

export const peerStats = numbers('connected', 'table', 'blocksTopic', 'blocksTopicV2', 'banned', 'known')
/** The result of opp2p_peerStats, with two more topics. */
export const opPeerStats = z.object({
  ...{ connected: z.number(), table: z.number(), banned: z.number(), known: z.number() },
  ...{ blocksTopic: z.number(), blocksTopicV2: z.number(), blocksTopicV3: z.number(), blocksTopicV4: z.number() },
})

const cause = z.object({
  reason: z.string(),
  detail: z.string().optional(),
  block: z.object({ number: z.number(), hash: z.string() }).optional(),
  topics: z.array(z.number()).optional(),
  count: z.number(),
  lastMs: moment,
})
const term = z.object({ value: z.number(), weight: z.number(), score: z.number() })

export const ban = z.object({
  subject: z.string(),
  kind: z.enum(['peer', 'ip']),
  reason: z.string(),
  untilMs: moment,
  remainingS: z.number(),
})

/** The result of deviump2p_accessRules. */
export const accessRules = z.object({
  blocks: z.array(
    z.object({
      subject: z.string(),
      kind: z.enum(['peer', 'address', 'subnet']),
      reason: z.string(),
      sinceMs: moment.nullable(),
    }),
  ),
  allow: z.array(z.string()).nullable(),
})

/** One peer in the result of deviump2p_standings. */
export const standing = z.object({
  ...{ peerID: z.string(), connected: z.boolean(), score: z.number(), inMesh: z.boolean() },
  ...{ static: z.boolean(), protected: z.boolean(), blocked: z.boolean(), ban: ban.nullable() },
})

/** One peer in the result of deviump2p_peerScore. */
export const scoreReport = z.object({
  peerID: z.string(),
  scored: z.boolean(),
  connected: z.boolean(),
  static: z.boolean(),
  protected: z.boolean(),
  servesBlocks: z.boolean().nullable(),
  total: z.number(),
  mainReason: z.string(),
  topics: z.object({
    score: z.number(),
    cap: z.number(),
    parts: z.array(
      z.object({
        topic: z.string(),
        version: z.number(),
        inMesh: z.boolean(),
        topicWeight: z.number(),
        ...perTerm(TOPIC_TERMS, () => term),
        score: z.number(),
      }),
    ),
  }),
  application: z.object({ score: z.number(), ...perTerm(RESPONSE_TERMS, () => term) }),
  ipColocation: z.object({
    score: z.number(),
    parts: z.array(
      z.object({
        ip: z.string(),
        peers: z.array(z.string()),
        threshold: z.number(),
        ...term.shape,
        exempt: z.boolean(),
        exemptBy: z.string().nullable(),
      }),
    ),
  }),
  behaviour: z.object({ penalties: z.number(), threshold: z.number(), ...term.shape }),
  causes: z.object({ rejections: z.array(cause), behaviour: z.array(cause), application: z.array(cause) }),
  thresholds: z.array(
    z.object({
      name: z.enum(['mesh', 'gossip', 'publish', 'graylist', 'ban']),
      value: z.number(),
      below: z.boolean(),
      effect: z.string(),
      changesInS: z.number().nullable(),
    }),
  ),
  forecastHorizonS: z.number(),
  forgottenInS: z.number().nullable(),
  ban: ban.nullable(),
  blocked: z.boolean(),
  advice: z.array(z.string()),
  refusals: z.array(z.object({ subject: z.string(), reason: z.string() })),
})

/** One peer in the result of deviump2p_peerHistory. */
export const peerHistory = z.object({
  peerID: z.string(),
  events: z.array(z.object({ kind: z.string(), ...cause.shape, firstMs: moment, score: z.number() })),
})

const headMove = z.object({ number: z.number(), hash: z.string(), atMs: moment })
const HEAD_SOURCES = ['gossip', 'request', 'posted', 'l1', 'sequencer'] as const

/** The result of deviump2p_health. */
export const gossipHealth = z.object({
  state: z.string(),
  ok: z.boolean(),
  sinceMs: moment,
  text: z.string().describe('the problem, and the action to take'),
  topic: z.string(),
  connected: z.number(),
  subscribers: z.number(),
  mesh: z.number(),
  staticPeers: z.array(
    z.object({
      peerID: z.string(),
      connected: z.boolean(),
      sinceMs: moment,
      failure: z.object({ reason: z.string(), text: z.string(), atMs: moment }).nullable(),
    }),
  ),
  otherChains: z.array(z.object({ peerID: z.string(), chainIDs: z.array(z.string()) })),
  lastBlock: z.object({ ...headMove.shape, peerID: z.string() }).nullable(),
  lastRefused: z
    .object({
      reason: z.string(),
      detail: z.string().nullable(),
      number: z.number().nullable(),
      hash: z.string().nullable(),
      peerID: z.string(),
      atMs: moment,
    })
    .nullable(),
  recent: z.object({
    seconds: z.number(),
    accepted: z.number(),
    refused: z.record(z.string(), z.number()),
    headMoves: z.record(z.enum(HEAD_SOURCES), z.number()),
  }),
  head: headMove.nullable(),
  lastMoves: z.record(z.enum(HEAD_SOURCES), headMove.nullable()),
  l1Only: z.object({ count: z.number(), sinceMs: moment.nullable() }),
})
