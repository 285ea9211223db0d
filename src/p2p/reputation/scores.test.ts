import { describe, expect, it } from 'vitest'
import { ZERO_SCORES } from '../base/api.ts'
import { blocksTopic, PAYLOAD_VERSIONS } from '../base/topics.ts'
import { gossipScoring, IpRangeSet, slotMilliseconds } from '../gossip/scoreParams.ts'
import { createAppScores } from './appScores.ts'

describe('gossipScoring', () => {
  const topics = new Map(PAYLOAD_VERSIONS.map((version) => [version, blocksTopic(901n, version)]))
  const chain = { blockTimeS: 2, appScore: () => 4, topics, version: 3 as const }
  it("has op-node's parameters", () => {
    const options = { scoring: 'light', scoreBlocks: 'none', ipColocationExempt: [] } as const
    const { params, thresholds } = gossipScoring({ ...options, ipColocationExempt: [] }, chain)
    expect(params).toMatchObject({
      topics: {},
      appSpecificWeight: 1,
      IPColocationFactorWeight: -35,
      IPColocationFactorThreshold: 10,
      behaviourPenaltyWeight: -16,
      behaviourPenaltyThreshold: 6,
      decayInterval: 2_000,
      decayToZero: 0.01,
      retainScore: 1_200_000,
    })
    expect(params.behaviourPenaltyDecay).toBeCloseTo(0.92611873, 8)
    expect(params.appSpecificScore('peer')).toBe(4)
    expect(thresholds).toEqual({
      gossipThreshold: -10,
      publishThreshold: -40,
      graylistThreshold: -40,
      acceptPXThreshold: 20,
      opportunisticGraftThreshold: 0.05,
    })
  })
  it('weighs nothing at level none', () => {
    const { params } = gossipScoring({ scoring: 'none', scoreBlocks: 'current', ipColocationExempt: [] }, chain)
    expect(params.topics).toEqual({})
    expect(params.topicScoreCap).toBe(0)
    expect(params.IPColocationFactorWeight).toBe(0)
    expect(params.behaviourPenaltyWeight).toBe(0)
    expect(params.appSpecificScore('peer')).toBe(0)
  })
  it('counts in block times of at least a second', () => {
    expect([0, 0.25, 1, 2].map(slotMilliseconds)).toEqual([2_000, 1_000, 1_000, 2_000])
  })
})

it('IpRangeSet has the addresses of its ranges', () => {
  const set = new IpRangeSet(['127.0.0.0/8', '::1/128'])
  const within = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']
  expect([...within, '128.0.0.1', '::2', 'example.org', ''].filter((ip) => set.has(ip))).toEqual(within)
})

describe('createAppScores', () => {
  it('weighs and caps events as op-node does', () => {
    const scores = createAppScores()
    expect(scores.score('a')).toBe(0)
    for (let n = 0; n < 50; n++) scores.record('a', 'validResponses')
    expect(scores.score('a')).toBe(5)
    for (let n = 0; n < 50; n++) scores.record('a', 'errorResponses')
    expect(scores.score('a')).toBe(-4)
    scores.record('a', 'rejectedPayloads')
    expect(scores.score('a')).toBe(-24)
    expect(scores.counters('a')).toEqual({
      ...ZERO_SCORES.reqResp,
      validResponses: 10,
      errorResponses: 9,
      rejectedPayloads: 1,
    })
  })
  it('decays for connected peers only, to zero in the end', () => {
    const scores = createAppScores()
    scores.record('a', 'rejectedPayloads')
    scores.record('b', 'rejectedPayloads')
    scores.decay(['a'])
    expect(scores.score('a')).toBeCloseTo(-20 * 0.92611873, 5)
    expect(scores.score('b')).toBe(-20)
    for (let slot = 1; slot < 59; slot++) scores.decay(['a'])
    expect(scores.counters('a').rejectedPayloads).toBeCloseTo(0.0108, 4)
    for (let slot = 59; slot < 61; slot++) scores.decay(['a'])
    expect(scores.counters('a')).toEqual(ZERO_SCORES.reqResp)
    expect(scores.peers()).toEqual(['b'])
  })
})
