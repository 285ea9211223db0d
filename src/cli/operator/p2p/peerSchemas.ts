import { z } from 'zod'
import { perTerm, RESPONSE_TERMS, TOPIC_TERMS } from '../../../p2p/base/scoreTerms.ts'

// Remote answers are validated, because another program may listen at that address.

const termSchema = z.object({ value: z.number(), weight: z.number(), score: z.number() })
const blockSchema = z.object({ number: z.number(), hash: z.string() })
const causeSchema = z.object({
  reason: z.string(),
  detail: z.string().optional(),
  block: blockSchema.optional(),
  topics: z.array(z.number()).optional(),
  count: z.number(),
  lastMs: z.number(),
})

/** deviump2p_peerScore of one peer. */
export const scoreSchema = z.object({
  peerID: z.string(),
  scored: z.boolean(),
  connected: z.boolean(),
  static: z.boolean(),
  protected: z.boolean(),
  servesBlocks: z.boolean().nullable().default(null),
  total: z.number(),
  mainReason: z.string(),
  topics: z.object({
    score: z.number(),
    cap: z.number(),
    parts: z.array(
      z.object({
        version: z.number(),
        inMesh: z.boolean(),
        topicWeight: z.number(),
        ...perTerm(TOPIC_TERMS, () => termSchema),
        score: z.number(),
      }),
    ),
  }),
  application: z.object(perTerm(RESPONSE_TERMS, () => termSchema)),
  ipColocation: z.object({
    parts: z.array(
      z.object({
        ip: z.string(),
        peers: z.array(z.string()),
        threshold: z.number(),
        exemptBy: z.string().nullable(),
        ...termSchema.shape,
      }),
    ),
  }),
  behaviour: z.object({ penalties: z.number(), threshold: z.number(), ...termSchema.shape }),
  causes: z.object({
    rejections: z.array(causeSchema),
    behaviour: z.array(causeSchema),
    application: z.array(causeSchema),
  }),
  thresholds: z.array(
    z.object({
      name: z.string(),
      value: z.number(),
      below: z.boolean(),
      effect: z.string(),
      changesInS: z.number().nullable(),
    }),
  ),
  forecastHorizonS: z.number(),
  forgottenInS: z.number().nullable(),
  ban: z.object({ reason: z.string(), untilMs: z.number(), remainingS: z.number() }).nullable(),
  advice: z.array(z.string()).default([]),
  refusals: z.array(z.object({ subject: z.string(), reason: z.string() })),
})

/** deviump2p_peerHistory of one peer. */
export const historySchema = z.object({
  peerID: z.string(),
  events: z.array(z.object({ ...causeSchema.shape, kind: z.string(), score: z.number() })),
})

/** deviump2p_bans. */
export const bansSchema = z.array(
  z.object({
    subject: z.string(),
    kind: z.string(),
    reason: z.string(),
    untilMs: z.number(),
    remainingS: z.number(),
  }),
)

/** deviump2p_peers. */
export const dumpSchema = z.object({
  totalConnected: z.number(),
  peers: z.record(
    z.string(),
    z.object({
      peerID: z.string(),
      userAgent: z.string(),
      addresses: z.array(z.string()).nullable(),
      connectedness: z.number(),
      direction: z.number(),
      protected: z.boolean(),
      gossipBlocks: z.boolean(),
      latency: z.number(),
      scores: z.object({ gossip: z.object({ total: z.number() }) }),
    }),
  ),
  bannedPeers: z.array(z.string()),
  bannedIPS: z.array(z.string()),
  bannedSubnets: z.array(z.string()),
})

export type Score = z.infer<typeof scoreSchema>
export type PeerEvents = z.infer<typeof historySchema>['events']
