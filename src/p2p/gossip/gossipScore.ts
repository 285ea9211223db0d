import { PeerScore, type PeerScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import { silentComponentLogger } from '../host/libp2pLogger.ts'
import type { PeerCounters, TopicCounters } from './adapter.ts'
import { ipv6Network } from './ipv6Networks.ts'
import { GOSSIP_PARAMS } from './params.ts'
import type { DecayingCounter } from './topicScores.ts'

/** gossipsub's counters of a peer on one topic. `meshTime` in milliseconds; 0 when the peer was in no mesh. */
export type SavedTopic = Pick<TopicCounters, 'meshTime' | DecayingCounter>

/** gossipsub's counters of a peer, without values that are only valid in a running process. */
export interface SavedCounters {
  topics: Record<string, SavedTopic>
  behaviourPenalty: number
}

export interface ScoreListener {
  /** `leaving`: before a peer's counters are finalized; `left`: after that. */
  onLeave(what: 'leaving' | 'left', peerId: string): void
  onPenalty(peerId: string, label: string): void
}

/**
 * Limit of disconnected peers in the library's score keeper. The library iterates over all of them each slot, and an
 * attacker can create identities for free.
 */
export const MAX_DISCONNECTED = 2_000

export function savedCounters(counters: PeerCounters): SavedCounters {
  const topics: SavedCounters['topics'] = {}
  for (const [topic, of] of Object.entries(counters.topics)) {
    const saved = {
      meshTime: of.inMesh ? of.meshTime : 0,
      firstMessageDeliveries: of.firstMessageDeliveries,
      meshMessageDeliveries: of.meshMessageDeliveries,
      meshFailurePenalty: of.meshFailurePenalty,
      invalidMessageDeliveries: of.invalidMessageDeliveries,
    }
    if (Object.values(saved).some((count) => count > 0)) topics[topic] = saved
  }
  return { topics, behaviourPenalty: counters.behaviourPenalty }
}

/**
 * The library's score keeper, extended to keep scores over disconnections. Gossipsub retains a bad score so that
 * reconnecting does not reset it, but release 17.1 resets it anyway on reconnection (go-libp2p-pubsub does not). This
 * class restores the counters.
 */
export class GossipScore extends PeerScore {
  private readonly listener: ScoreListener
  private readonly meshTimes = new Map<string, Map<string, number>>()
  private readonly offended = new WeakSet<PeerCounters>()
  /** Disconnected peers, longest disconnected first. */
  private readonly disconnected = new Set<string>()

  constructor(
    params: PeerScoreParams,
    listener: ScoreListener,
    scoreCacheValidityMs: number = GOSSIP_PARAMS.heartbeatInterval,
  ) {
    super(params, null, silentComponentLogger, { scoreCacheValidityMs })
    this.listener = listener
  }

  override addPeer(peerId: string): void {
    this.disconnected.delete(peerId)
    const before = this.peerStats.get(peerId)
    // The peer may connect from another IP now. The library adds the new IP.
    for (const ip of before?.knownIPs ?? []) this.removeIP(peerId, ip)
    super.addPeer(peerId)
    const now = this.peerStats.get(peerId)
    // The counters have expired. The saved time in mesh of a peer from before a restart has expired as well.
    if (before === undefined) this.meshTimes.delete(peerId)
    if (before === undefined || now === undefined) return
    now.topics = before.topics
    now.behaviourPenalty = before.behaviourPenalty
    if (this.offended.has(before)) this.markOffended(peerId)
  }

  override removePeer(peerId: string): void {
    // Scores are cached for half a second. Without this, a peer that offends and leaves within that time would leave
    // with a good score.
    this.scoreCache.delete(peerId)
    this.listener.onLeave('leaving', peerId)
    const counters = this.peerStats.get(peerId)
    super.removePeer(peerId)
    this.scoreCache.delete(peerId)
    // The library keeps no counters of a peer with a good score.
    if (counters !== undefined && this.offended.has(counters) && !this.peerStats.has(peerId)) {
      this.restore(peerId, { topics: {}, behaviourPenalty: counters.behaviourPenalty }, this.params.retainScore)
      this.markOffended(peerId)
    }
    if (this.peerStats.has(peerId)) this.disconnected.add(peerId)
    this.evictLongestDisconnected()
    this.listener.onLeave('left', peerId)
  }

  /** Restores the time in mesh after a restart. */
  override graft(peerId: string, topic: string): void {
    super.graft(peerId, topic)
    const times = this.meshTimes.get(peerId)
    const meshTime = times?.get(topic)
    const counters = this.peerStats.get(peerId)?.topics[topic]
    if (times === undefined || meshTime === undefined || counters === undefined) return
    times.delete(topic)
    if (times.size === 0) this.meshTimes.delete(peerId)
    counters.meshTime = meshTime
    counters.graftTime -= meshTime
  }

  /** Also counts an IPv6 peer at its /64 network, as go-libp2p-pubsub does and the library does not. */
  override addIP(peerId: string, ip: string): void {
    super.addIP(peerId, ip)
    const network = this.params.IPColocationFactorWhitelist.has(ip) ? undefined : ipv6Network(ip)
    if (network !== undefined) super.addIP(peerId, network)
  }

  override addPenalty(...penalty: Parameters<PeerScore['addPenalty']>): void {
    super.addPenalty(...penalty)
    const [peerId, , label] = penalty
    this.listener.onPenalty(peerId, label)
  }

  /** Adds an offence. The counters are then kept when the peer leaves, even with a good score. */
  addOffence(peerId: string, points: number): void {
    // A peer without a gossip stream has no counters yet. It takes these over when it opens one.
    if (!this.peerStats.has(peerId)) {
      this.restore(peerId, { topics: {}, behaviourPenalty: 0 }, this.params.retainScore)
    }
    const counters = this.peerStats.get(peerId)
    if (counters !== undefined) counters.behaviourPenalty += points
    this.markOffended(peerId)
  }

  /**
   * Restores a peer as if it had disconnected just now: it regains its counters when it connects within `forMs`. On
   * topics without a mesh delivery weight, its time in mesh continues at the first graft.
   */
  restore(peerId: string, saved: SavedCounters, forMs: number): void {
    const topics: PeerCounters['topics'] = {}
    const times = new Map<string, number>()
    for (const [topic, counters] of Object.entries(saved.topics)) {
      const params = this.params.topics[topic]
      if (params === undefined) continue
      topics[topic] = {
        ...counters,
        inMesh: false,
        graftTime: 0,
        meshTime: 0,
        meshMessageDeliveriesActive: false,
      }
      if (counters.meshTime > 0 && params.meshMessageDeliveriesWeight === 0) times.set(topic, counters.meshTime)
    }
    if (times.size > 0) this.meshTimes.set(peerId, times)
    this.peerStats.set(peerId, {
      connected: false,
      expire: Date.now() + forMs,
      topics,
      knownIPs: new Set(),
      behaviourPenalty: saved.behaviourPenalty,
    })
  }

  /** Resets all penalties of a peer, connected or not. */
  forgive(peerId: string): void {
    const counters = this.peerStats.get(peerId)
    if (counters === undefined) return
    counters.behaviourPenalty = 0
    for (const topic of Object.values(counters.topics)) {
      topic.meshFailurePenalty = 0
      topic.invalidMessageDeliveries = 0
    }
    // Otherwise the cached score could ban the peer again.
    this.scoreCache.delete(peerId)
  }

  private markOffended(peerId: string): void {
    const counters = this.peerStats.get(peerId)
    if (counters !== undefined) this.offended.add(counters)
  }

  private evictLongestDisconnected(): void {
    for (const peerId of this.disconnected) {
      if (this.disconnected.size <= MAX_DISCONNECTED) return
      this.disconnected.delete(peerId)
      for (const ip of this.peerStats.get(peerId)?.knownIPs ?? []) this.removeIP(peerId, ip)
      this.peerStats.delete(peerId)
      this.scoreCache.delete(peerId)
    }
  }
}
