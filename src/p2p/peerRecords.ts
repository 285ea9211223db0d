import type { Peer, PeerId } from '@libp2p/interface'
import { CONNECTEDNESS, DIRECTION, type Direction, type PeerRecord, type PeerScores, type TopicScores } from './api.ts'
import type { PeerCounters, TopicCounters } from './gossip/gossipInternals.ts'
import { withPeerId } from './host/multiaddrs.ts'
import { nodeIdOf } from './host/nodeId.ts'

export const ZERO_SCORES: PeerScores = {
  gossip: {
    total: 0,
    blocks: { timeInMesh: 0, firstMessageDeliveries: 0, meshMessageDeliveries: 0, invalidMessageDeliveries: 0 },
    IPColocationFactor: 0,
    behavioralPenalty: 0,
  },
  reqResp: { validResponses: 0, errorResponses: 0, rejectedPayloads: 0 },
}

/** What discovery writes into the peer store, as text. */
export const PEER_METADATA = { enr: 'ENR', chainId: 'ChainID' } as const

/** What is known of a peer beside the peer store. */
export interface PeerFacts {
  connected: boolean
  direction: Direction
  protected: boolean
  latencyMs: number | undefined
  gossipBlocks: boolean
  scores: PeerScores
}

export const UNKNOWN_PEER_FACTS: PeerFacts = {
  connected: false,
  direction: DIRECTION.unknown,
  protected: false,
  latencyMs: undefined,
  gossipBlocks: false,
  scores: ZERO_SCORES,
}

export function peerRecord(id: PeerId, stored: Peer | undefined, facts: PeerFacts): PeerRecord {
  const addresses = stored?.addresses.map((address) => withPeerId(address.multiaddr, id)) ?? []
  return {
    peerID: id.toString(),
    nodeID: nodeIdOf(id),
    userAgent: metadataText(stored, 'AgentVersion'),
    protocolVersion: metadataText(stored, 'ProtocolVersion'),
    ENR: metadataText(stored, PEER_METADATA.enr),
    addresses: addresses.length === 0 ? null : addresses,
    protocols: stored === undefined || stored.protocols.length === 0 ? null : stored.protocols,
    connectedness: facts.connected ? CONNECTEDNESS.connected : CONNECTEDNESS.notConnected,
    direction: facts.direction,
    protected: facts.protected,
    chainID: Number(metadataText(stored, PEER_METADATA.chainId)),
    latency: facts.latencyMs === undefined ? 0 : Math.round(facts.latencyMs * 1e6),
    gossipBlocks: facts.gossipBlocks,
    scores: facts.scores,
  }
}

/** What gossipsub counts, in op-node's form: counters summed over topics, the longest time in a mesh in seconds. */
export function gossipScores(
  total: number,
  counters: PeerCounters | undefined,
  ipColocation: number,
): PeerScores['gossip'] {
  const blocks: TopicScores = { ...ZERO_SCORES.gossip.blocks }
  const topics: TopicCounters[] = Object.values(counters?.topics ?? {})
  for (const topic of topics) {
    if (topic.inMesh) blocks.timeInMesh = Math.max(blocks.timeInMesh, topic.meshTime / 1000)
    blocks.firstMessageDeliveries += topic.firstMessageDeliveries
    blocks.meshMessageDeliveries += topic.meshMessageDeliveries
    blocks.invalidMessageDeliveries += topic.invalidMessageDeliveries
  }
  return { total, blocks, IPColocationFactor: ipColocation, behavioralPenalty: counters?.behaviourPenalty ?? 0 }
}

function metadataText(peer: Peer | undefined, key: string): string {
  const bytes = peer?.metadata.get(key)
  return bytes === undefined ? '' : Buffer.from(bytes).toString('utf8')
}
