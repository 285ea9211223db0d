import type { Peer, PeerId } from '@libp2p/interface'
import { CONNECTEDNESS, DIRECTION, type Direction, PEER_METADATA, type PeerScores, ZERO_SCORES } from './base/api.ts'
import type { PeerRecord } from './base/schemas.ts'
import { withPeerId } from './host/multiaddrs.ts'
import { nodeIdOf } from './host/nodeId.ts'

/** Facts about a peer that are not in the peer store. */
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

/** Facts about a peer that are in the peer store. */
export type StoredRecord = Pick<
  PeerRecord,
  'peerID' | 'nodeID' | 'userAgent' | 'protocolVersion' | 'ENR' | 'addresses' | 'protocols' | 'chainID'
>

export function storedRecord(id: PeerId, stored: Peer | undefined): StoredRecord {
  return {
    peerID: id.toString(),
    nodeID: nodeIdOf(id),
    userAgent: metadataText(stored, 'AgentVersion'),
    protocolVersion: metadataText(stored, 'ProtocolVersion'),
    ENR: metadataText(stored, PEER_METADATA.enr),
    addresses: stored?.addresses.map((address) => withPeerId(address.multiaddr, id)) ?? [],
    protocols: stored === undefined || stored.protocols.length === 0 ? null : stored.protocols,
    chainID: Number(metadataText(stored, PEER_METADATA.chainId)),
  }
}

export function peerRecord({ chainID, ...stored }: StoredRecord, facts: PeerFacts): PeerRecord {
  const { validResponses, errorResponses, rejectedPayloads } = facts.scores.reqResp
  return {
    ...stored,
    connectedness: facts.connected ? CONNECTEDNESS.connected : CONNECTEDNESS.notConnected,
    direction: facts.direction,
    protected: facts.protected,
    chainID,
    latency: facts.latencyMs === undefined ? 0 : Math.round(facts.latencyMs * 1e6),
    gossipBlocks: facts.gossipBlocks,
    scores: { gossip: facts.scores.gossip, reqResp: { validResponses, errorResponses, rejectedPayloads } },
  }
}

function metadataText(peer: Peer | undefined, key: string): string {
  const bytes = peer?.metadata.get(key)
  return bytes === undefined ? '' : Buffer.from(bytes).toString('utf8')
}
