import { describe, expect, it } from 'vitest'
import { blocksTopic, PAYLOAD_VERSIONS } from '../base/topics.ts'
import { gossipScoring, IpRangeSet, slotMilliseconds } from './scoreParams.ts'

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
  it('gives every term weight zero at level none', () => {
    const { params } = gossipScoring({ scoring: 'none', scoreBlocks: 'current', ipColocationExempt: [] }, chain)
    expect(params.topics).toEqual({})
    expect(params.topicScoreCap).toBe(0)
    expect(params.IPColocationFactorWeight).toBe(0)
    expect(params.behaviourPenaltyWeight).toBe(0)
    expect(params.appSpecificScore('peer')).toBe(0)
  })
  it('bases decays on the block time, at least one second', () => {
    expect([0, 0.25, 1, 2].map(slotMilliseconds)).toEqual([2_000, 1_000, 1_000, 2_000])
  })
})

it('IpRangeSet contains the addresses of its ranges', () => {
  const set = new IpRangeSet(['127.0.0.0/8', '::1/128'])
  const within = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']
  expect([...within, '128.0.0.1', '::2', 'example.org', ''].filter((ip) => set.has(ip))).toEqual(within)
})
