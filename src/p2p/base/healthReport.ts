import { z } from 'zod'
import { moment } from './schemas.ts'

const HEALTHY = [
  /** The node has not run long enough to judge. */
  'starting',
  /** Blocks arrive by gossip. */
  'ok',
  'sequencing',
  /** Blocks arrive by gossip above a gap, which derivation or requests are closing. */
  'catching-up',
] as const
/** States that need an operator's action. */
const TROUBLES = [
  'no-peers',
  /** No static peer is connected, and no other peer sends blocks. */
  'static-peers-down',
  /** Peers are connected, but none subscribes to this chain's block topic. */
  'no-subscriber',
  /** Peers subscribe, but none is in a mesh with this node. Only L1 advances the head. */
  'no-mesh',
  /** Blocks arrive, and all of them are rejected. */
  'blocks-rejected',
  /** No block arrives by gossip or L1. The chain seems to have stopped. */
  'chain-stands-still',
  /** The mesh exists, no block arrives by gossip, and only L1 advances the head. */
  'gossip-silent',
  /** Gossip blocks are accepted, but only L1 advances the head. */
  'l1-only',
] as const

/** State of block gossip. The names are stable: they are labels of a metric. */
export const HEALTH_STATES = [...HEALTHY, ...TROUBLES] as const
export type HealthState = (typeof HEALTH_STATES)[number]

export function isTrouble(state: HealthState): boolean {
  return TROUBLES.some((trouble) => trouble === state)
}

/** Source of the block that became the unsafe head. `posted`: by RPC; `request`: by number from a peer. */
const HEAD_SOURCES = ['gossip', 'request', 'posted', 'l1', 'sequencer'] as const
export type HeadSource = (typeof HEAD_SOURCES)[number]

const headMove = z.object({ number: z.number(), hash: z.string(), atMs: moment })
export type HeadMove = z.infer<typeof headMove>

const gossipBlock = z.object({ ...headMove.shape, peerID: z.string() })
export type GossipBlock = z.infer<typeof gossipBlock>

const refusedBlock = z.object({
  reason: z.string(),
  detail: z.string().nullable(),
  /** The block as its sender named it; null when it could not be read. */
  number: z.number().nullable(),
  hash: z.string().nullable(),
  peerID: z.string(),
  atMs: moment,
})
export type RefusedBlock = z.infer<typeof refusedBlock>

const staticPeerHealth = z.object({
  peerID: z.string(),
  connected: z.boolean(),
  /** Time of the last change of `connected`. */
  sinceMs: moment,
  /** Cause of the last failed dial or of the last disconnection; null while connected. */
  failure: z.object({ reason: z.string(), text: z.string(), atMs: moment }).nullable(),
})
export type StaticPeerHealth = z.infer<typeof staticPeerHealth>

/** The result of deviump2p_health. */
export const gossipHealth = z.object({
  state: z.enum(HEALTH_STATES),
  /** False: an operator should act. */
  ok: z.boolean(),
  sinceMs: moment,
  text: z.string().describe('the problem, and the action to take'),
  /** The topic that carries the chain's blocks now. */
  topic: z.string(),
  connected: z.number(),
  /** Connected peers that subscribe to the topic. */
  subscribers: z.number(),
  mesh: z.number(),
  staticPeers: z.array(staticPeerHealth),
  /** With `no-subscriber`: the chains that connected peers serve, read from their protocols. */
  otherChains: z.array(z.object({ peerID: z.string(), chainIDs: z.array(z.string()) })),
  /** The last block accepted from gossip. */
  lastBlock: gossipBlock.nullable(),
  /** The last block that was rejected, or ignored for another reason than a duplicate. */
  lastRefused: refusedBlock.nullable(),
  recent: z.object({
    seconds: z.number(),
    accepted: z.number(),
    refused: z.record(z.string(), z.number()),
    /** Number of advances of the unsafe head, by source. */
    headMoves: z.record(z.enum(HEAD_SOURCES), z.number()),
  }),
  /** The unsafe head; null until the node has found it. */
  head: headMove.nullable(),
  lastMoves: z.record(z.enum(HEAD_SOURCES), headMove.nullable()),
  /** Advances through L1 since the last advance by another source. */
  l1Only: z.object({ count: z.number(), sinceMs: moment.nullable() }),
})
export type HealthReport = z.infer<typeof gossipHealth>

/** A move of the unsafe head, reported by the node. `payload`: a block that came from this p2p node or by RPC. */
export interface HeadEvent {
  number: number
  hash: string
  movedBy: 'payload' | 'derivation' | 'sequencer' | 'reset'
}
