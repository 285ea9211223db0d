import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import type { PeerScores, ReqRespScores } from '../base/api.ts'
import { perTerm, RESPONSE_TERMS } from '../base/scoreTerms.ts'
import { type SavedCounters, savedCounters } from '../gossip/gossipScore.ts'
import type { GossipRouter } from '../gossip/router.ts'
import type { GossipScoring } from '../gossip/scoreParams.ts'
import { decayed, decayedTopic } from '../gossip/topicScores.ts'
import { APP_DECAY, type AppScores } from './appScores.ts'
import type { ScoreBook, ScoreRecord } from './scoreBook.ts'

/** Keeps scores over a restart. A restart must neither forgive a hostile peer nor reset a good one. */
export type ScoreKeeping = ReturnType<typeof createScoreKeeping>

export function createScoreKeeping(
  modules: {
    book: ScoreBook
    router: Pick<GossipRouter, 'counters' | 'restore' | 'forgive'>
    appScores: Pick<AppScores, 'counters' | 'peers' | 'restore' | 'forget'>
    scores: { of(peerId: string): PeerScores }
    connected(): string[]
    clock: Clock
  },
  params: GossipScoring['params'],
) {
  const { book, router, appScores, scores, clock } = modules
  let isClosed = false

  const write = (peerId: string, connected: boolean, peerScores: PeerScores): void => {
    const counters = router.counters(peerId)
    const saved: SavedCounters = counters === undefined ? { topics: {}, behaviourPenalty: 0 } : savedCounters(counters)
    if (isBlank(peerScores, saved)) book.remove(peerId)
    else book.set(peerId, { lastUpdate: Math.floor(clock.now() / 1000), peerScores, connected, counters: saved })
  }
  const saveAll = (): void => {
    const connected = new Set(modules.connected())
    for (const peerId of connected) write(peerId, true, scores.of(peerId))
    // A request may end after its peer has disconnected.
    for (const peerId of appScores.peers()) {
      if (connected.has(peerId)) continue
      const record = book.get(peerId)
      const reqResp = appScores.counters(peerId)
      if (record === undefined) write(peerId, false, scores.of(peerId))
      else if (!isDeepStrictEqual(record.peerScores.reqResp, reqResp)) {
        const lastUpdate = Math.floor(clock.now() / 1000)
        book.set(peerId, { ...record, lastUpdate, peerScores: { ...record.peerScores, reqResp } })
      }
    }
    for (const peerId of book.prune()) appScores.forget(peerId)
  }

  return {
    /**
     * Restores the counters of all recorded peers, decayed by the elapsed time. Call it once, before any peer connects.
     */
    restore(): void {
      for (const [peerId, record] of book.all()) {
        const { counters, reqResp } = aged(record, clock.now(), params)
        const leftMs = record.lastUpdate * 1000 + params.retainScore - clock.now()
        if (counters.behaviourPenalty > 0 || Object.keys(counters.topics).length > 0) {
          router.restore(peerId, counters, leftMs)
        }
        appScores.restore(peerId, reqResp)
      }
    },
    /** Records all scores; op-node does so every 15 s. */
    async save(): Promise<void> {
      if (!isClosed) saveAll()
      await book.flush()
    },
    /**
     * Records all scores a last time, while the peers are still connected. Later disconnections come from this node's
     * stop and are not recorded.
     */
    async close(): Promise<void> {
      if (!isClosed) saveAll()
      isClosed = true
      await book.flush()
    },
    onLeave(peerId: string): () => void {
      const last = scores.of(peerId)
      return () => {
        if (!isClosed) write(peerId, false, last)
      }
    },
    forgive(peerId: string): void {
      router.forgive(peerId)
      appScores.forget(peerId)
      book.remove(peerId)
    },
    /** The current scores, or for a disconnected peer its last scores. */
    of(peerId: string): PeerScores {
      if (router.counters(peerId) !== undefined) return scores.of(peerId)
      return book.get(peerId)?.peerScores ?? scores.of(peerId)
    },
  }
}

/** The record decayed until now, by the rules of a running node. */
function aged(
  record: ScoreRecord,
  nowMs: number,
  params: GossipScoring['params'],
): { counters: SavedCounters; reqResp: ReqRespScores } {
  const { counters, peerScores } = record
  if (!record.connected) return { counters, reqResp: peerScores.reqResp }
  const slots = Math.max(0, Math.floor((nowMs - record.lastUpdate * 1000) / params.decayInterval))
  const topics: SavedCounters['topics'] = {}
  for (const [topic, saved] of Object.entries(counters.topics)) {
    const of = params.topics[topic]
    if (of !== undefined) topics[topic] = { meshTime: saved.meshTime, ...decayedTopic(saved, of, slots) }
  }
  return {
    counters: { topics, behaviourPenalty: decayed(counters.behaviourPenalty, params.behaviourPenaltyDecay, slots) },
    reqResp: perTerm(RESPONSE_TERMS, (name) => decayed(peerScores.reqResp[name], APP_DECAY, slots)),
  }
}

function isBlank({ gossip, reqResp }: PeerScores, { topics, behaviourPenalty }: SavedCounters): boolean {
  const counted = behaviourPenalty > 0 || Object.keys(topics).length > 0 || gossip.total !== 0
  return !counted && Object.values(reqResp).every((count) => count === 0)
}
