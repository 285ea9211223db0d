import type { PeerRecord, PeerStanding } from '../src/p2p/base/schemas.ts'
import type { StaticPeerHealth } from './answers.ts'

/** Facts that a peer announces, and facts of its connection. */
export type PeerFacts = Pick<PeerRecord, 'userAgent' | 'addresses' | 'direction' | 'latency'>

/** A peer that is connected, banned, blocked or static. */
export interface Peer extends PeerStanding {
  /** Undefined until the node has been queried. */
  facts: PeerFacts | undefined
  /** The reason why a static peer is not connected. */
  away: string | undefined
}

/** Adds disconnected static peers, which the node's standings omit. */
export function withStaticPeers(
  standings: readonly PeerStanding[],
  staticPeers: readonly StaticPeerHealth[],
): Omit<Peer, 'facts'>[] {
  const reasons = new Map(staticPeers.map(({ peerID, failure }) => [peerID, failure?.text ?? 'no answer yet']))
  const listed = standings.map((standing) => {
    const reason = reasons.get(standing.peerID)
    reasons.delete(standing.peerID)
    return { ...standing, away: standing.connected ? undefined : reason }
  })
  const unlisted = [...reasons].map(([peerID, away]) => ({
    ...{ peerID, connected: false, score: 0, inMesh: false },
    ...{ static: true, protected: true, blocked: false, ban: null },
    away,
  }))
  return [...listed, ...unlisted]
}

/** Indexed by libp2p's numbers. */
const DIRECTIONS = ['–', 'inbound', 'outbound']

export function directionOf({ connected, facts }: Pick<Peer, 'connected' | 'facts'>): string {
  return connected ? (DIRECTIONS[facts?.direction ?? 0] ?? '–') : 'not connected'
}

/** Undefined until it is measured. */
export function latencyMsOf({ facts }: Pick<Peer, 'facts'>): number | undefined {
  return facts === undefined || facts.latency === 0 ? undefined : facts.latency / 1e6
}
