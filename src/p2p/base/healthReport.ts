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
  /** The block as its sender named it; null when it could not be read. */
  number: number | null
  hash: string | null
  peerID: string
  atMs: number
}

export interface StaticPeerHealth {
  peerID: string
  connected: boolean
  /** Unix milliseconds of the last change of `connected`. */
  sinceMs: number
  /** Cause of the last failed dial or of the last disconnection; null while connected. */
  failure: { reason: string; text: string; atMs: number } | null
}

/** `deviump2p_health`. */
export interface HealthReport {
  state: HealthState
  /** False: an operator should act. */
  ok: boolean
  sinceMs: number
  /** The problem, and the action to take. */
  text: string
  /** The topic that carries the chain's blocks now. */
  topic: string
  connected: number
  /** Connected peers that subscribe to the topic. */
  subscribers: number
  mesh: number
  staticPeers: StaticPeerHealth[]
  /** With `no-subscriber`: the chains that connected peers serve, read from their protocols. */
  otherChains: { peerID: string; chainIDs: string[] }[]
  /** The last block accepted from gossip. */
  lastBlock: GossipBlock | null
  /** The last block that was rejected, or ignored for another reason than a duplicate. */
  lastRefused: RefusedBlock | null
  recent: {
    seconds: number
    accepted: number
    refused: Record<string, number>
    /** Number of advances of the unsafe head, by source. */
    headMoves: Record<HeadSource, number>
  }
  /** The unsafe head; null until the node has found it. */
  head: HeadMove | null
  lastMoves: Record<HeadSource, HeadMove | null>
  /** Advances through L1 since the last advance by another source. */
  l1Only: { count: number; sinceMs: number | null }
}

/** A move of the unsafe head, reported by the node. `payload`: a block that came from this p2p node or by RPC. */
export interface HeadEvent {
  number: number
  hash: string
  movedBy: 'payload' | 'derivation' | 'sequencer' | 'reset'
}
