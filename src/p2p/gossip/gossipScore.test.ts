import { ScorePenalty } from '@chainsafe/libp2p-gossipsub/metrics'
import { RejectReason } from '@chainsafe/libp2p-gossipsub/types'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { scoreKeeper, topicCounters } from '../testUtils/scoreKeeper.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { MAX_DISCONNECTED, savedCounters } from './gossipScore.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 }))
afterEach(() => vi.useRealTimers())

function keeper(scoreBlocks: 'current' | 'op-node-2024' = 'current', scoreCacheValidityMs = 0) {
  const { score, scoring } = scoreKeeper({ scoreBlocks }, scoreCacheValidityMs)
  return { score, topics: Object.keys(scoring.params.topics) }
}

describe('GossipScore', () => {
  it('keeps a bad score when the peer reconnects from another IP', () => {
    const { score } = keeper()
    score.addPeer('bad')
    score.addIP('bad', '1.2.3.4')
    for (let n = 0; n < 3; n++) score.rejectMessage('bad', `m${n}`, TOPIC, RejectReason.Reject)
    score.addPenalty('bad', 9, ScorePenalty.BrokenPromise)
    const before = score.score('bad')
    expect(before).toBeLessThan(-150)
    score.removePeer('bad')
    score.addPeer('bad')
    score.addIP('bad', '5.6.7.8')
    expect(score.score('bad')).toBe(before)
    expect(score.peerStats.get('bad')).toMatchObject({ connected: true, knownIPs: new Set(['5.6.7.8']) })
    expect(score.peerIPs.has('1.2.3.4')).toBe(false)
  })

  it('keeps only the latest disconnected peers, up to the limit', () => {
    const { score } = keeper()
    const leave = (peerId: string): void => {
      score.addPeer(peerId)
      score.addIP(peerId, '1.2.3.4')
      score.addPenalty(peerId, 9, ScorePenalty.BrokenPromise)
      score.removePeer(peerId)
    }
    leave('first')
    leave('back')
    for (let n = 0; n < MAX_DISCONNECTED - 1; n++) leave(`${n}`)
    score.addPeer('back')
    leave('last')
    leave('very last')
    const known = ['first', '0', 'back', 'last', 'very last'].filter((peerId) => score.peerStats.has(peerId))
    expect(known).toEqual(['back', 'last', 'very last'])
    expect(score.peerIPs.get('1.2.3.4')?.size).toBe(MAX_DISCONNECTED)
    expect(score.score('back')).toBeLessThan(-100)
  })

  it("counts offences right before a disconnection, despite the library's cached score", () => {
    const { score } = keeper('current', 60_000)
    score.addPeer('bad')
    score.deliverMessage('bad', 'm', TOPIC)
    expect(score.score('bad')).toBeGreaterThan(0)
    for (let n = 0; n < 9; n++) score.rejectMessage('bad', `m${n}`, TOPIC, RejectReason.Reject)
    score.removePeer('bad')
    expect(score.scoreCache.has('bad')).toBe(false)
    score.addPeer('bad')
    expect(score.score('bad')).toBeLessThan(-200)
  })

  it('keeps an offence of a peer that leaves with a good score, each time', () => {
    const { score } = keeper()
    score.addPeer('good')
    score.deliverMessage('good', 'm', TOPIC)
    score.removePeer('good')
    expect(score.peerStats.has('good')).toBe(false)
    // Before the peer has a gossip stream.
    score.addOffence('bad', 2)
    for (let visit = 0; visit < 2; visit++) {
      score.addPeer('bad')
      expect(score.peerStats.get('bad')).toMatchObject({ connected: true, behaviourPenalty: 2 })
      score.deliverMessage('bad', 'm', TOPIC)
      expect(score.score('bad')).toBeGreaterThan(0)
      score.removePeer('bad')
      expect(score.peerStats.get('bad')).toMatchObject({ connected: false, behaviourPenalty: 2, topics: {} })
    }
    score.addPeer('bad')
    score.addOffence('bad', 1)
    expect(score.peerStats.get('bad')?.behaviourPenalty).toBe(3)
  })

  it('reports a penalty, and a departure before and after it', () => {
    const heard: unknown[] = []
    const { score } = scoreKeeper({}, 0, {
      onPenalty: (...penalty) => heard.push(penalty),
      onLeave: (step, peerId) => heard.push([step, peerId, score.peerStats.has(peerId)]),
    })
    score.addPeer('a')
    score.addPenalty('a', 1, ScorePenalty.GraftBackoff)
    score.deliverMessage('a', 'm', TOPIC)
    score.removePeer('a')
    expect(heard).toEqual([
      ['a', ScorePenalty.GraftBackoff],
      ['leaving', 'a', true],
      ['left', 'a', false],
    ])
  })

  it('saves only topics with something to restore', () => {
    const topics = { none: topicCounters(), some: topicCounters({ firstMessageDeliveries: 1 }) }
    const saved = savedCounters({ connected: true, expire: 0, knownIPs: new Set(), behaviourPenalty: 3, topics })
    expect(saved.behaviourPenalty).toBe(3)
    expect(Object.keys(saved.topics)).toEqual(['some'])
  })

  it('restores saved counters, and continues the time in mesh', () => {
    const first = keeper()
    first.score.addPeer('a')
    first.score.graft('a', TOPIC)
    for (let n = 0; n < 5; n++) first.score.deliverMessage('a', `m${n}`, TOPIC)
    vi.setSystemTime(Date.now() + 600_000)
    first.score.refreshScores()
    const counters = first.score.peerStats.get('a')
    if (counters === undefined) throw new Error('no counters')
    const saved = savedCounters(counters)
    expect(saved.topics[TOPIC]?.meshTime).toBe(600_000)
    const earned = first.score.score('a')

    const { score } = keeper()
    score.restore('a', saved, 60_000)
    score.addPeer('a')
    // 0.8 · 0: the peer is not in the mesh yet.
    expect(score.score('a')).toBeCloseTo(earned - (0.8 * 10 * 300) / 1800, 6)
    score.graft('a', TOPIC)
    expect(score.score('a')).toBeCloseTo(earned, 6)
    vi.setSystemTime(Date.now() + 2_000)
    score.refreshScores()
    expect(score.peerStats.get('a')?.topics[TOPIC]?.meshTime).toBe(602_000)
    // Only once: a peer that leaves the mesh starts from zero, as usual.
    score.prune('a', TOPIC)
    score.graft('a', TOPIC)
    expect(score.peerStats.get('a')?.topics[TOPIC]?.meshTime).toBe(0)
  })

  it('does not count a delivery deficit from before a restart', () => {
    const { score, topics: scored } = keeper('op-node-2024')
    const topic = scored[0] ?? ''
    score.restore('a', { topics: { [topic]: topicCounters({ meshTime: 600_000 }) }, behaviourPenalty: 0 }, 60_000)
    score.addPeer('a')
    score.graft('a', topic)
    vi.setSystemTime(Date.now() + 2_000)
    score.refreshScores()
    expect(score.score('a')).toBeGreaterThan(0)
  })

  it('drops peers that do not return in time, and unscored topics', () => {
    const { score } = keeper()
    const bad = topicCounters({ meshTime: 600_000, invalidMessageDeliveries: 4 })
    score.restore('a', { topics: { [TOPIC]: bad, other: bad }, behaviourPenalty: 0 }, 60_000)
    expect(Object.keys(score.peerStats.get('a')?.topics ?? {})).toEqual([TOPIC])
    vi.setSystemTime(Date.now() + 59_000)
    score.refreshScores()
    expect(score.score('a')).toBeCloseTo(-51.2, 6)
    vi.setSystemTime(Date.now() + 2_000)
    score.refreshScores()
    score.addPeer('a')
    score.graft('a', TOPIC)
    expect(score.score('a')).toBe(0)
  })
})
