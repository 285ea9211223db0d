/** Nobody needs to do anything. */
const WELL = [
  /** Not long enough up to tell. */
  'starting',
  /** Blocks come by gossip. */
  'ok',
  /** This node makes the blocks. */
  'sequencing',
  /** Blocks come by gossip, but lie above a gap that L1 or requests are closing. */
  'catching-up',
] as const
/** An operator should do something about it. */
const TROUBLES = [
  'no-peers',
  /** None is connected, and nobody else brings blocks. */
  'static-peers-down',
  /** Peers are connected, but none takes part in the gossip of this chain's blocks. */
  'no-subscriber',
  /** Peers take part, but none in a mesh with this node, and the head moves through L1. */
  'no-mesh',
  /** Blocks come, and not one of them is accepted. */
  'blocks-rejected',
  /** Nothing comes by gossip, nor by L1: the chain stands still as far as can be seen. */
  'chain-stands-still',
  /** The mesh stands, no block comes, and the head moves through L1. */
  'gossip-silent',
  /** Blocks are accepted from gossip, but the head moves through L1 only. */
  'l1-only',
] as const

/** How well blocks come by gossip. Stable names: they are labels of a metric. */
export const HEALTH_STATES = [...WELL, ...TROUBLES] as const
export type HealthState = (typeof HEALTH_STATES)[number]

export function isTrouble(state: HealthState): boolean {
  return TROUBLES.some((trouble) => trouble === state)
}

/** Where a block came from that became the unsafe head: `posted` by RPC, `request` by number from a peer. */
export type HeadSource = 'gossip' | 'request' | 'posted' | 'l1' | 'sequencer'

/** Times are Unix milliseconds. */
export interface HeadMove {
  number: number
  hash: string
  atMs: number
}

export interface GossipBlock {
  number: number
  hash: string
  peerID: string
  atMs: number
}

export interface RefusedBlock {
  reason: string
  detail: string | null
  /** As its sender named it; null when it could not be read. */
  number: number | null
  hash: string | null
  peerID: string
  atMs: number
}

export interface StaticPeerHealth {
  peerID: string
  connected: boolean
  /** Since when it is connected, or not. */
  sinceMs: number
  /** Why the last dial came to nothing, or the last connection to its end; null while connected. */
  failure: { reason: string; text: string; atMs: number } | null
}

/** `deviump2p_health`. */
export interface HealthReport {
  state: HealthState
  /** False: somebody should look after it. */
  ok: boolean
  sinceMs: number
  /** What is the matter, and what to do about it. */
  text: string
  /** The topic that carries the chain's blocks now. */
  topic: string
  connected: number
  /** Connected peers that take part in the topic's gossip. */
  subscribers: number
  mesh: number
  staticPeers: StaticPeerHealth[]
  /** With `no-subscriber`: chains that connected peers serve instead, as their protocols tell. */
  otherChains: { peerID: string; chainIDs: string[] }[]
  /** Accepted from gossip. */
  lastBlock: GossipBlock | null
  /** Rejected, or ignored for another reason than that it was seen before. */
  lastRefused: RefusedBlock | null
  /** Of the last minutes. */
  recent: {
    seconds: number
    accepted: number
    refused: Record<string, number>
    /** Times that the unsafe head advanced. */
    headMoves: Record<HeadSource, number>
  }
  /** The unsafe head; null until the node has found it. */
  head: HeadMove | null
  lastMoves: Record<HeadSource, HeadMove | null>
  /** Advances through L1 since the last by other means. */
  l1Only: { count: number; sinceMs: number | null }
}

/** What the node says of its unsafe head: `payload` is a block that it got from here, or by RPC. */
export interface HeadNews {
  number: number
  hash: string
  movedBy: 'payload' | 'derivation' | 'sequencer' | 'reset'
}
