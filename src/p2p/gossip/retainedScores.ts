import type { PeerCounters, Replacements, ScoreInternals, TopicCounters } from './adapter.ts'

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

type Scored = Pick<ScoreInternals, 'peerStats' | 'params' | 'scoreCache' | 'removeIP'>

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
 * Gossipsub keeps the bad score of a peer that leaves so that coming back does not wipe it out, but release 17.1 starts
 * a peer that comes back anew all the same (go-libp2p-pubsub does not). This gives it its counters back.
 * `leaving` is told before a peer's counters are settled, `left` after that.
 */
export function retainScores(score: Scored, tell: (what: 'leaving' | 'left', peerId: string) => void) {
  const meshTimes = new Map<string, Map<string, number>>()
  /** Counters of peers that committed an offence. */
  const offended = new WeakSet<PeerCounters>()

  const restore = (peerId: string, saved: SavedCounters, forMs: number): void => {
    const topics: PeerCounters['topics'] = {}
    const times = new Map<string, number>()
    for (const [topic, counters] of Object.entries(saved.topics)) {
      const params = score.params.topics[topic]
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
    if (times.size > 0) meshTimes.set(peerId, times)
    score.peerStats.set(peerId, {
      connected: false,
      expire: Date.now() + forMs,
      topics,
      knownIPs: new Set(),
      behaviourPenalty: saved.behaviourPenalty,
    })
  }
  const holdAgainst = (peerId: string): void => {
    const counters = score.peerStats.get(peerId)
    if (counters !== undefined) offended.add(counters)
  }

  /** Longest gone first. */
  const gone = new Set<string>()
  const forgetLongestGone = (): void => {
    for (const peerId of gone) {
      if (gone.size <= MAX_GONE) return
      gone.delete(peerId)
      for (const ip of score.peerStats.get(peerId)?.knownIPs ?? []) score.removeIP(peerId, ip)
      score.peerStats.delete(peerId)
      score.scoreCache.delete(peerId)
    }
  }

  const replacements: Replacements['retained'] = {
    addPeer: (addPeer) => (peerId) => {
      gone.delete(peerId)
      const before = score.peerStats.get(peerId)
      // It may come from elsewhere now; the library adds the IP of the new connection.
      for (const ip of before?.knownIPs ?? []) score.removeIP(peerId, ip)
      addPeer(peerId)
      const now = score.peerStats.get(peerId)
      // Its time is over: of a peer from before the start, that in the mesh is, too.
      if (before === undefined) meshTimes.delete(peerId)
      if (before === undefined || now === undefined) return
      now.topics = before.topics
      now.behaviourPenalty = before.behaviourPenalty
      if (offended.has(before)) holdAgainst(peerId)
    },
    removePeer: (removePeer) => (peerId) => {
      // Scores are remembered for half a second: whoever offends and leaves within that would leave as a good peer.
      score.scoreCache.delete(peerId)
      tell('leaving', peerId)
      const counters = score.peerStats.get(peerId)
      removePeer(peerId)
      score.scoreCache.delete(peerId)
      // The library keeps no counters of a peer whose score is good.
      if (counters !== undefined && offended.has(counters) && !score.peerStats.has(peerId)) {
        restore(peerId, { topics: {}, behaviourPenalty: counters.behaviourPenalty }, score.params.retainScore)
        holdAgainst(peerId)
      }
      if (score.peerStats.has(peerId)) gone.add(peerId)
      forgetLongestGone()
      tell('left', peerId)
    },
    graft: (graft) => (peerId, topic) => {
      graft(peerId, topic)
      const times = meshTimes.get(peerId)
      const meshTime = times?.get(topic)
      const counters = score.peerStats.get(peerId)?.topics[topic]
      if (times === undefined || meshTime === undefined || counters === undefined) return
      times.delete(topic)
      if (times.size === 0) meshTimes.delete(peerId)
      counters.meshTime = meshTime
      counters.graftTime -= meshTime
    },
  }

  return {
    /** What the score keeper is given instead of its own. */
    replacements,
    /**
     * As if the peer had been here before and left: it finds its counters again when it connects within `forMs`. On
     * topics where nobody is measured by deliveries its time in the mesh goes on at its first graft.
     */
    restore,
    /** An offence was put down in the peer's counters: they are kept when it leaves, however good its score is. */
    holdAgainst,
    /** Strikes out what counts against a peer, connected or not. */
    forgive(peerId: string): void {
      const counters = score.peerStats.get(peerId)
      if (counters === undefined) return
      counters.behaviourPenalty = 0
      for (const topic of Object.values(counters.topics)) {
        topic.meshFailurePenalty = 0
        topic.invalidMessageDeliveries = 0
      }
      // Or it would be banned again for a score of half a second ago.
      score.scoreCache.delete(peerId)
    },
  }
}
