import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import type { PeerScores, ReqRespScores } from '../base/api.ts'
import { perTerm, RESPONSE_TERMS } from '../base/scoreTerms.ts'
import { type SavedCounters, savedCounters } from '../gossip/gossipScore.ts'
import type { GossipRouter } from '../gossip/router.ts'
import type { GossipScoring } from '../gossip/scoreParams.ts'
import { APP_DECAY, type AppScores } from './appScores.ts'
import type { ScoreBook, ScoreRecord } from './scoreBook.ts'

/** Carries scores over a restart: neither is a hostile peer forgiven by one, nor does a good one start from nothing. */
export type ScoreKeeping = ReturnType<typeof createScoreKeeping>

export function createScoreKeeping(
  modules: {
    book: ScoreBook
    router: Pick<GossipRouter, 'counters' | 'restore' | 'forgive'>
    appScores: Pick<AppScores, 'counters' | 'peers' | 'restore' | 'forget'>
    /** As they stand now. */
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
    else book.put(peerId, { lastUpdate: Math.floor(clock.now() / 1000), peerScores, connected, counters: saved })
  }
  const saveAll = (): void => {
    const connected = new Set(modules.connected())
    for (const peerId of connected) write(peerId, true, scores.of(peerId))
    // What is asked of a peer may end after it is gone.
    for (const peerId of appScores.peers()) {
      if (connected.has(peerId)) continue
      const record = book.get(peerId)
      const reqResp = appScores.counters(peerId)
      if (record === undefined) write(peerId, false, scores.of(peerId))
      else if (!isDeepStrictEqual(record.peerScores.reqResp, reqResp)) {
        const lastUpdate = Math.floor(clock.now() / 1000)
        book.put(peerId, { ...record, lastUpdate, peerScores: { ...record.peerScores, reqResp } })
      }
    }
    for (const peerId of book.prune()) appScores.forget(peerId)
  }

  return {
    /** Gives the peers of the book their counters back, decayed by the time that passed. Once, before anybody connects. */
    restore(): void {
      for (const [peerId, record] of book.entries()) {
        const { counters, reqResp } = aged(record, clock.now(), params)
        const leftMs = record.lastUpdate * 1000 + params.retainScore - clock.now()
        if (counters.behaviourPenalty > 0 || Object.keys(counters.topics).length > 0) {
          router.restore(peerId, counters, leftMs)
        }
        appScores.restore(peerId, reqResp)
      }
    },
    /** Writes down how everybody stands; op-node does it every 15 s. */
    async save(): Promise<void> {
      if (!isClosed) saveAll()
      await book.flush()
    },
    /** Writes down a last time, while the peers are still connected; who leaves after that is leaving because we stop. */
    async close(): Promise<void> {
      if (!isClosed) saveAll()
      isClosed = true
      await book.flush()
    },
    /** For the gossip router. */
    onLeave(peerId: string): () => void {
      const last = scores.of(peerId)
      return () => {
        if (!isClosed) write(peerId, false, last)
      }
    },
    /** Strikes out what counts against a peer. */
    forgive(peerId: string): void {
      router.forgive(peerId)
      appScores.forget(peerId)
      book.remove(peerId)
    },
    /** Of a peer that may be gone: how it stands, or stood when it left. */
    of(peerId: string): PeerScores {
      if (router.counters(peerId) !== undefined) return scores.of(peerId)
      return book.get(peerId)?.peerScores ?? scores.of(peerId)
    },
  }
}

/** What has become of it until now, by the same decay as in a running node. */
function aged(
  record: ScoreRecord,
  nowMs: number,
  params: GossipScoring['params'],
): { counters: SavedCounters; reqResp: ReqRespScores } {
  const { counters, peerScores } = record
  if (!record.connected) return { counters, reqResp: peerScores.reqResp }
  const slots = Math.max(0, Math.floor((nowMs - record.lastUpdate * 1000) / params.decayInterval))
  const left = (count: number, decay: number): number => {
    const next = count * decay ** slots
    return next < params.decayToZero ? 0 : next
  }
  const topics: SavedCounters['topics'] = {}
  for (const [topic, saved] of Object.entries(counters.topics)) {
    const of = params.topics[topic]
    if (of === undefined) continue
    topics[topic] = {
      meshTime: saved.meshTime,
      firstMessageDeliveries: left(saved.firstMessageDeliveries, of.firstMessageDeliveriesDecay),
      meshMessageDeliveries: left(saved.meshMessageDeliveries, of.meshMessageDeliveriesDecay),
      meshFailurePenalty: left(saved.meshFailurePenalty, of.meshFailurePenaltyDecay),
      invalidMessageDeliveries: left(saved.invalidMessageDeliveries, of.invalidMessageDeliveriesDecay),
    }
  }
  return {
    counters: { topics, behaviourPenalty: left(counters.behaviourPenalty, params.behaviourPenaltyDecay) },
    reqResp: perTerm(RESPONSE_TERMS, (name) => left(peerScores.reqResp[name], APP_DECAY)),
  }
}

function isBlank({ gossip, reqResp }: PeerScores, { topics, behaviourPenalty }: SavedCounters): boolean {
  const counted = behaviourPenalty > 0 || Object.keys(topics).length > 0 || gossip.total !== 0
  return !counted && Object.values(reqResp).every((count) => count === 0)
}
