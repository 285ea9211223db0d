import { PeerScore, type PeerScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import { silentComponentLogger } from '../host/libp2pLogger.ts'
import type { PeerCounters, TopicCounters } from './adapter.ts'
import { ipv6Network } from './ipv6Networks.ts'
import { GOSSIP_PARAMS } from './params.ts'

/** What gossipsub counted of a peer on one topic. Time in the mesh in milliseconds; 0 when it was in none. */
export type SavedTopic = Pick<
  TopicCounters,
  'meshTime' | 'firstMessageDeliveries' | 'meshMessageDeliveries' | 'meshFailurePenalty' | 'invalidMessageDeliveries'
>

/** What gossipsub counted of a peer, without what only makes sense while it runs. */
export interface SavedCounters {
  topics: Record<string, SavedTopic>
  behaviourPenalty: number
}

export interface ScoreNews {
  /** `leaving` is told before a peer's counters are settled, `left` after that. */
  onLeave(what: 'leaving' | 'left', peerId: string): void
  /** The library blames a peer. */
  onPenalty(peerId: string, label: string): void
}

/** Peers that are gone and remembered by the library: all are gone through every slot, and new identities cost nothing. */
export const MAX_GONE = 2_000

export function savedCounters(counters: PeerCounters): SavedCounters {
  const topics: SavedCounters['topics'] = {}
  for (const [topic, of] of Object.entries(counters.topics)) {
    const { firstMessageDeliveries, meshMessageDeliveries, meshFailurePenalty, invalidMessageDeliveries } = of
    const meshTime = of.inMesh ? of.meshTime : 0
    const saved = {
      meshTime,
      firstMessageDeliveries,
      meshMessageDeliveries,
      meshFailurePenalty,
      invalidMessageDeliveries,
    }
    if (Object.values(saved).some((count) => count > 0)) topics[topic] = saved
  }
  return { topics, behaviourPenalty: counters.behaviourPenalty }
}

/**
 * The library's score keeper, which also keeps scores over absences. Gossipsub keeps the bad score of a peer that leaves so
 * that coming back does not wipe it out, but release 17.1 starts a peer that comes back anew all the same (go-libp2p-pubsub
 * does not). This class gives the peer its counters back.
 */
export class GossipScore extends PeerScore {
  private readonly news: ScoreNews
  private readonly meshTimes = new Map<string, Map<string, number>>()
  /** Counters of peers that committed an offence. */
  private readonly offended = new WeakSet<PeerCounters>()
  /** Peers that are gone; the one that is gone for longest comes first. */
  private readonly gone = new Set<string>()

  constructor(
    params: PeerScoreParams,
    news: ScoreNews,
    scoreCacheValidityMs: number = GOSSIP_PARAMS.heartbeatInterval,
  ) {
    super(params, null, silentComponentLogger, { scoreCacheValidityMs })
    this.news = news
  }

  override addPeer(peerId: string): void {
    this.gone.delete(peerId)
    const before = this.peerStats.get(peerId)
    // It may come from elsewhere now; the library adds the IP of the new connection.
    for (const ip of before?.knownIPs ?? []) this.removeIP(peerId, ip)
    super.addPeer(peerId)
    const now = this.peerStats.get(peerId)
    // The counters have expired; of a peer from before the start, the time in the mesh has expired, too.
    if (before === undefined) this.meshTimes.delete(peerId)
    if (before === undefined || now === undefined) return
    now.topics = before.topics
    now.behaviourPenalty = before.behaviourPenalty
    if (this.offended.has(before)) this.holdAgainst(peerId)
  }

  override removePeer(peerId: string): void {
    // Scores are remembered for half a second: whoever offends and leaves within that would leave as a good peer.
    this.scoreCache.delete(peerId)
    this.news.onLeave('leaving', peerId)
    const counters = this.peerStats.get(peerId)
    super.removePeer(peerId)
    this.scoreCache.delete(peerId)
    // The library keeps no counters of a peer whose score is good.
    if (counters !== undefined && this.offended.has(counters) && !this.peerStats.has(peerId)) {
      this.restore(peerId, { topics: {}, behaviourPenalty: counters.behaviourPenalty }, this.params.retainScore)
      this.holdAgainst(peerId)
    }
    if (this.peerStats.has(peerId)) this.gone.add(peerId)
    this.forgetLongestGone()
    this.news.onLeave('left', peerId)
  }

  /** Time in the mesh goes on after a restart. */
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

  /** Counts an IPv6 peer at its /64 as well as at its address, as go-libp2p-pubsub does and the library does not. */
  override addIP(peerId: string, ip: string): void {
    super.addIP(peerId, ip)
    const network = this.params.IPColocationFactorWhitelist.has(ip) ? undefined : ipv6Network(ip)
    if (network !== undefined) super.addIP(peerId, network)
  }

  override addPenalty(...blame: Parameters<PeerScore['addPenalty']>): void {
    super.addPenalty(...blame)
    const [peerId, , label] = blame
    this.news.onPenalty(peerId, label)
  }

  /** Puts down an offence: the counters are kept when the peer leaves, however good its score is. */
  addOffence(peerId: string, points: number): void {
    // A peer that has not spoken gossip yet has no counters: it finds these when it does.
    if (!this.peerStats.has(peerId)) {
      this.restore(peerId, { topics: {}, behaviourPenalty: 0 }, this.params.retainScore)
    }
    const counters = this.peerStats.get(peerId)
    if (counters !== undefined) counters.behaviourPenalty += points
    this.holdAgainst(peerId)
  }

  /**
   * As if the peer had been here before and left: it finds its counters again when it connects within `forMs`. On
   * topics where nobody is measured by deliveries its time in the mesh goes on at its first graft.
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

  /** Strikes out what counts against a peer, connected or not. */
  forgive(peerId: string): void {
    const counters = this.peerStats.get(peerId)
    if (counters === undefined) return
    counters.behaviourPenalty = 0
    for (const topic of Object.values(counters.topics)) {
      topic.meshFailurePenalty = 0
      topic.invalidMessageDeliveries = 0
    }
    // Or it would be banned again for a score of half a second ago.
    this.scoreCache.delete(peerId)
  }

  private holdAgainst(peerId: string): void {
    const counters = this.peerStats.get(peerId)
    if (counters !== undefined) this.offended.add(counters)
  }

  private forgetLongestGone(): void {
    for (const peerId of this.gone) {
      if (this.gone.size <= MAX_GONE) return
      this.gone.delete(peerId)
      for (const ip of this.peerStats.get(peerId)?.knownIPs ?? []) this.removeIP(peerId, ip)
      this.peerStats.delete(peerId)
      this.scoreCache.delete(peerId)
    }
  }
}
