import { RejectReason } from '@chainsafe/libp2p-gossipsub/types'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { BlockScoring } from '../base/options.ts'
import { PAYLOAD_VERSIONS, type PayloadVersion } from '../base/topics.ts'
import { idText } from '../inspection/messageId.ts'
import { scoreKeeper, TOPICS } from '../testUtils/scoreKeeper.ts'
import { countMissed } from './missedBlocks.ts'

const topicOf = (version: PayloadVersion) => TOPICS.get(version) ?? ''
const NOW = 3
const SLOT_MS = 2_000

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 }))
afterEach(() => vi.useRealTimers())

/** Time advances slot by slot. */
function keeper(scoreBlocks: BlockScoring) {
  const { score, scoring } = scoreKeeper({ scoreBlocks })
  let serial = 0
  let lowest = 0
  return {
    score,
    scoring,
    lowest: () => lowest,
    /** As the router does: it joins every topic, so each peer is grafted into four meshes. */
    join(...peers: string[]) {
      for (const peer of peers) {
        score.addPeer(peer)
        for (const topic of TOPICS.values()) score.graft(peer, topic)
      }
    },
    /** `first` delivers it, the others send copies. */
    block(first: string, copies: string[] = [], version: PayloadVersion = NOW) {
      const id = `block${serial++}`
      score.validateMessage(id)
      score.deliverMessage(first, id, topicOf(version))
      for (const peer of copies) score.duplicateMessage(peer, id, topicOf(version))
    },
    slots(count: number, each: () => void = () => {}) {
      for (let slot = 0; slot < count; slot++) {
        each()
        vi.setSystemTime(Date.now() + SLOT_MS)
        score.refreshScores()
        for (const peer of score.peerStats.keys()) lowest = Math.min(lowest, score.score(peer))
      }
    },
  }
}

describe('missing blocks', () => {
  it('make every mesh score negative after 48 s by the rules of op-node in 2024', () => {
    const { join, slots, score } = keeper('op-node-2024')
    join('a', 'b')
    slots(23)
    expect(score.score('a')).toBeGreaterThan(0)
    slots(3)
    // 0.8 · (−0.7 · 3² + time in mesh)
    expect(score.score('a')).toBeCloseTo(-4.9, 1)
    expect(score.score('b')).toBeLessThan(0)
  })
  it.each(['current', 'none'] as const)('lower no score with %s', (scoreBlocks) => {
    const { join, slots, lowest, score } = keeper(scoreBlocks)
    join('a', 'b')
    slots(1_800)
    expect(lowest()).toBe(0)
    expect(score.score('a')).toBeGreaterThanOrEqual(0)
  })
})

describe('the scoring level current', () => {
  it('lowers no score when the sequencer or the chain stops', () => {
    const { join, block, slots, lowest } = keeper('current')
    join('op-node-2024', 'op-node-2026', 'kona')
    slots(200, () => block('op-node-2024', ['op-node-2026']))
    slots(1_800)
    slots(200, () => block('op-node-2026', ['kona']))
    expect(lowest()).toBe(0)
  })
  it('lowers no score of a 2024 op-node, which prunes every peer after 48 s', () => {
    const { score, block, slots, lowest } = keeper('current')
    score.addPeer('source')
    score.addPeer('op-node-2024')
    // It knows three topics. It leaves their meshes, and leaves again when we graft it.
    const known = [topicOf(1), topicOf(2), topicOf(3)]
    for (let minute = 0; minute < 30; minute++) {
      for (const topic of known) score.graft('op-node-2024', topic)
      slots(24, () => block('source', ['op-node-2024']))
      for (const topic of known) score.prune('op-node-2024', topic)
      // After that, blocks travel by lazy gossip in both directions.
      slots(3, () => block('source'))
      slots(3, () => block('op-node-2024'))
    }
    slots(1_800)
    expect(lowest()).toBe(0)
  })
  it('lowers no score of a 2026 op-node, which stays in every mesh and never delivers first', () => {
    const { join, block, slots, lowest, score } = keeper('current')
    join('source', 'op-node-2026')
    slots(900, () => block('source', ['op-node-2026']))
    // All blocks arrive by lazy gossip or from us: no copies and no first deliveries.
    slots(900, () => block('source'))
    expect(lowest()).toBe(0)
    expect(score.score('op-node-2026')).toBeGreaterThan(0)
  })
  it('lowers no score of a peer when either side prunes or disconnects', () => {
    const { join, block, slots, score, lowest } = keeper('current')
    join('a', 'b')
    slots(60, () => block('a'))
    for (const topic of TOPICS.values()) score.prune('b', topic)
    slots(5)
    score.removePeer('b')
    slots(5)
    expect(lowest()).toBe(0)
  })
  it('rewards first deliveries and time in mesh only on the topic with blocks', () => {
    const { join, block, slots, score } = keeper('current')
    join('first', 'late')
    slots(120, () => block('first', ['late']))
    expect(score.score('first')).toBeGreaterThan(score.score('late') + 10)
    expect(score.score('late')).toBeCloseTo(0.8 * 10 * (120 / 1800), 2)
    const other = keeper('current')
    other.join('a')
    other.slots(120, () => other.block('a', [], 1))
    expect(other.score.score('a')).toBeCloseTo(0.8 * 10 * (120 / 1800), 2)
  })
  it('penalises the sender of an invalid message on every topic, and lets the penalty decay', () => {
    for (const version of PAYLOAD_VERSIONS) {
      const { join, slots, score } = keeper('current')
      join('bad')
      const scores: number[] = []
      for (let n = 0; n < 6; n++) {
        score.rejectMessage('bad', `bad${n}`, topicOf(version), RejectReason.Reject)
        scores.push(score.score('bad'))
      }
      expect(scores.map(Math.round)).toEqual([-3, -13, -29, -51, -80, -115])
      slots(400)
      expect(score.score('bad')).toBeGreaterThan(-3)
    }
  })
  it('penalises no peer for rejections that our clock or a new signer can cause', () => {
    const { penalises } = keeper('current').scoring
    const [free, blamed] = [
      ['too-old', 'from-future', 'wrong-signer', 'too-many-at-height'] as const,
      ['snappy-damaged', 'bad-signature', 'wrong-hash', 'bad-encoding'] as const,
    ]
    expect([free.filter(penalises), blamed.filter(penalises)]).toEqual([[], blamed])
    expect(keeper('op-node-2024').scoring.penalises('too-old')).toBe(true)
  })
  it('moves the weights to the next topic at a fork', () => {
    const { scoring } = keeper('current')
    const weights = (version: PayloadVersion) => {
      const params = scoring.topicsFor(version) ?? {}
      return PAYLOAD_VERSIONS.filter((v) => (params[topicOf(v)]?.firstMessageDeliveriesWeight ?? 0) > 0)
    }
    expect([weights(3), weights(4)]).toEqual([[3], [4]])
    expect(keeper('none').scoring.topicsFor(4)).toBeUndefined()
  })
})

describe('countMissed', () => {
  const id = new Uint8Array(20).fill(1)
  const topic = topicOf(NOW)
  function setUp(saidAt: number | undefined) {
    const { join, score, slots } = keeper('current')
    join('silent', 'bringer')
    const idontwants = new Map(saidAt === undefined ? [] : [['silent', new Map([[idText(id), saidAt]])]])
    const mesh = new Map([[topic, new Set(['silent', 'bringer'])]])
    return { target: { mesh, idontwants, heartbeatTicks: 100, score }, score, slots }
  }
  it.each([
    ['never announced the block', undefined, 0],
    ['announced the block just before', 97, 0],
    ['announced the block 2 s before', 96, 1],
  ])('handles a mesh peer that %s', (_id, saidAt, missed) => {
    const { target, score } = setUp(saidAt)
    countMissed(target, topic, id, 'bringer')
    expect(score.peerStats.get('silent')?.topics[topic]?.meshFailurePenalty).toBe(missed)
    expect(score.peerStats.get('bringer')?.topics[topic]?.meshFailurePenalty).toBe(0)
  })
  it('does not count a peer whose copy arrived during validation', () => {
    const { target, score } = setUp(90)
    score.duplicateMessage('silent', idText(id), topic)
    countMissed(target, topic, id, 'bringer')
    expect(score.peerStats.get('silent')?.topics[topic]?.meshFailurePenalty).toBe(0)
  })
  it('penalises only mesh peers, makes repeat offenders negative, and decays without blocks', () => {
    const { target, score, slots } = setUp(0)
    target.mesh.set(topic, new Set())
    countMissed(target, topic, id, 'bringer')
    expect(score.peerStats.get('silent')?.topics[topic]?.meshFailurePenalty).toBe(0)
    target.mesh.set(topic, new Set(['silent']))
    slots(30, () => countMissed(target, topic, id, 'bringer'))
    expect(score.score('silent')).toBeLessThan(-2)
    slots(60)
    expect(score.score('silent')).toBeGreaterThan(0)
  })
})
