import type { TopicScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import { describe, expect, it } from 'vitest'
import { ZERO_SCORES } from '../base/api.ts'
import type { PeerCounters, TopicCounters } from '../gossip/adapter.ts'
import { opNode2024Params } from '../gossip/topicScores.ts'
import { scoreKeeper, topicCounters } from '../testUtils/scoreKeeper.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { decayState, FORECAST_S, forecast, type ScoreState, scoreParts, scoreState } from './explainScore.ts'

const NOTHING = ZERO_SCORES.reqResp
/** op-node's parameters of 2024 for 2 s blocks (facts: peer_params.go). */
const TOPIC_PARAMS: TopicScoreParams = {
  topicWeight: 0.8,
  timeInMeshWeight: 10 / 1800,
  timeInMeshQuantum: 2_000,
  timeInMeshCap: 1800,
  firstMessageDeliveriesWeight: 1,
  firstMessageDeliveriesDecay: 0.96235063,
  firstMessageDeliveriesCap: 23,
  meshMessageDeliveriesWeight: -0.7,
  meshMessageDeliveriesDecay: 0.8576959,
  meshMessageDeliveriesCap: 30,
  meshMessageDeliveriesThreshold: 3,
  meshMessageDeliveriesWindow: 2_000,
  meshMessageDeliveriesActivation: 48_000,
  meshFailurePenaltyWeight: -0.7,
  meshFailurePenaltyDecay: 0.8576959,
  invalidMessageDeliveriesWeight: -140.4475,
  invalidMessageDeliveriesDecay: 0.98476665,
}
const { params } = scoreKeeper({ scoreBlocks: 'none', ipColocationExempt: ['127.0.0.0/8'] }).scoring
const withTopic = { ...params, topicScoreCap: 34, topics: { [TOPIC]: TOPIC_PARAMS } }

function stateOf(changes: Partial<ScoreState> = {}): ScoreState {
  return { topics: [], behaviourPenalty: 0, application: { ...NOTHING }, ips: [], ...changes }
}
const topicState = (changes: Partial<TopicCounters>): ScoreState['topics'][number] => ({
  topic: TOPIC,
  version: 3,
  counters: topicCounters(changes),
})

it("opNode2024Params has op-node's values", () => {
  const closeTo = Object.entries(TOPIC_PARAMS).map(([name, value]) => [name, expect.closeTo(value, 7)])
  expect(opNode2024Params(2_000)).toEqual(Object.fromEntries(closeTo))
})

describe('scoreParts', () => {
  it('weighs the counters of the application', () => {
    const state = stateOf({ application: { ...NOTHING, validResponses: 4, errorResponses: 2, rejectedPayloads: 1 } })
    const { total, application } = scoreParts(state, params, true)
    expect(application.validResponses).toEqual({ value: 4, weight: 0.5, score: 2 })
    expect(application.rejectedPayloads).toEqual({ value: 1, weight: -20, score: -20 })
    expect(total).toBe(2 - 2 - 20)
    expect(scoreParts(state, params, false).total).toBe(0)
  })
  it('names the peers on an IP, and an exempt IP', () => {
    const peers = Array.from({ length: 12 }, (_, n) => `peer${n}`)
    const state = stateOf({ ips: ['8.8.8.8', '127.0.0.1'].map((ip) => ({ ip, peers })) })
    const { total, ipColocation } = scoreParts(state, params, true)
    expect(ipColocation.parts.map(({ ip, exempt, score }) => [ip, exempt, score])).toEqual([
      ['8.8.8.8', false, 4 * -35],
      ['127.0.0.1', true, 0],
    ])
    expect(ipColocation.parts[0]?.peers).toEqual(peers)
    expect(total).toBe(-140)
  })
  it('squares the behaviour penalty above the threshold', () => {
    expect(scoreParts(stateOf({ behaviourPenalty: 6 }), params, true).total).toBe(0)
    expect(scoreParts(stateOf({ behaviourPenalty: 8.5 }), params, true).behaviour).toEqual({
      score: 6.25 * -16,
      penalties: 8.5,
      threshold: 6,
      value: 6.25,
      weight: -16,
    })
  })
  it('splits a topic into its terms', () => {
    const counters = {
      inMesh: true,
      meshTime: 90_000,
      firstMessageDeliveries: 30,
      meshMessageDeliveries: 1,
      meshMessageDeliveriesActive: true,
      meshFailurePenalty: 4,
      invalidMessageDeliveries: 0.5,
    }
    const [part] = scoreParts(stateOf({ topics: [topicState(counters)] }), withTopic, true).topics.parts
    expect(part?.timeInMesh.score).toBeCloseTo(45 * (10 / 1800))
    expect(part?.firstDeliveries.score).toBe(23)
    expect(part?.meshDeficit).toEqual({ value: 4, weight: -0.7, score: -2.8 })
    expect(part?.meshFailures.score).toBeCloseTo(-2.8)
    expect(part?.invalidMessages.score).toBeCloseTo(-140.4475 / 4)
    expect(part?.score).toBeCloseTo(0.8 * (0.25 + 23 - 2.8 - 2.8 - 35.111875))
  })
  it('caps the positive score of topics, and ignores topics without parameters', () => {
    const topics = [topicState({ firstMessageDeliveries: 23, inMesh: true, meshTime: 7_200_000 })]
    expect(scoreParts(stateOf({ topics }), { ...withTopic, topicScoreCap: 20 }, true).total).toBe(20)
    expect(scoreParts(stateOf({ topics }), params, true)).toMatchObject({ total: 0, topics: { parts: [] } })
  })
})

it('scoreState returns a copy', () => {
  const { counters: topic } = topicState({ firstMessageDeliveries: 5 })
  const counters: PeerCounters = {
    connected: true,
    expire: 0,
    topics: { [TOPIC]: topic },
    knownIPs: new Set(['1.2.3.4']),
    behaviourPenalty: 3,
  }
  const application = { ...NOTHING, errorResponses: 1 }
  const state = scoreState(counters, application, { versionOf: () => 3, peersOnIp: () => ['a', 'b'] })
  expect(state).toEqual({
    topics: [{ topic: TOPIC, version: 3, counters: topic }],
    behaviourPenalty: 3,
    application,
    ips: [{ ip: '1.2.3.4', peers: ['a', 'b'] }],
  })
  decayState(state, withTopic)
  expect(topic.firstMessageDeliveries).toBe(5)
  expect(counters.behaviourPenalty).toBe(3)
  const unknown = scoreState(undefined, application, { versionOf: () => 3, peersOnIp: () => [] })
  expect(unknown).toEqual({ topics: [], behaviourPenalty: 0, application, ips: [] })
})

it('decayState sets values below 0.01 to zero, and skips a topic without parameters', () => {
  const state = stateOf({
    behaviourPenalty: 0.0101,
    topics: [{ topic: 'unscored', version: 3, counters: topicCounters({ firstMessageDeliveries: 5 }) }],
  })
  decayState(state, withTopic)
  expect(state.behaviourPenalty).toBe(0)
  expect(state.topics[0]?.counters.firstMessageDeliveries).toBe(5)
})

describe('forecast', () => {
  const thresholds = [0, -10, -40]
  it('forecasts when a behaviour penalty decays', () => {
    // 9² · −16 = −1296; below 6 after ln(15/6)/−ln(0.92611873) = 11.94 slots.
    expect(forecast(stateOf({ behaviourPenalty: 15 }), params, true, [0])).toEqual([24])
    const [mesh, gossip, graylist] = forecast(stateOf({ behaviourPenalty: 15 }), params, true, thresholds)
    expect(graylist).toBeLessThan(gossip ?? 0)
    expect(gossip).toBeLessThan(mesh ?? 0)
  })
  it('forecasts that a crowded IP keeps its penalty', () => {
    const ips = [{ ip: '8.8.8.8', peers: Array.from({ length: 12 }, (_, n) => `peer${n}`) }]
    expect(forecast(stateOf({ ips }), params, true, thresholds)).toEqual([null, null, null])
  })
  it('forecasts when decaying positive parts no longer hide negative ones', () => {
    const ips = [{ ip: '8.8.8.8', peers: Array.from({ length: 11 }, (_, n) => `peer${n}`) }]
    const topics = [topicState({ firstMessageDeliveries: 23 }), topicState({ firstMessageDeliveries: 23 })]
    const [mesh, gossip] = forecast(stateOf({ ips, topics }), { ...withTopic, topicScoreCap: 0 }, true, [0, -10])
    // 36.8·d^n < 35 → n > 1.3
    expect(mesh).toBe(4)
    // 36.8·d^n < 25 → n > ln(36.8/25)/−ln(0.96235063) = 10.07
    expect(gossip).toBe(22)
  })
  it.each<[string, Partial<ScoreState>, number]>([
    // 20 · d^n < 10 → n > ln 2/−ln(0.92611873) = 9.03
    ['a false block', { application: { ...NOTHING, rejectedPayloads: 1 } }, 20],
    // 5² · 0.7 · 0.8 = 14 · d^n, which counts once: 25 · 0.56 · d^n < 10 → n > ln 1.4/−ln(0.8576959) = 2.19
    ['missed blocks', { topics: [topicState({ meshFailurePenalty: 25 })] }, 6],
    // 0.5² · 140.4475 · 0.8 · d^2n < 10 → n > ln(28.0895/10)/−2·ln(0.98476665) = 33.64
    ['an invalid message', { topics: [topicState({ invalidMessageDeliveries: 0.5 })] }, 68],
  ])('forecasts when %s counts no more than 10', (_, state, seconds) => {
    expect(forecast(stateOf(state), withTopic, true, [-10])).toEqual([seconds])
  })
  it('forecasts when a mesh peer has delivered too few blocks for its threshold', () => {
    // Below 3 at once; (3 − 2.9·d^n)² · 0.56 ≥ 1 → 2.9·d^n ≤ 1.66 → n > ln(2.9/1.66)/−ln(0.8576959) = 3.6
    const counters = { inMesh: true, meshMessageDeliveriesActive: true, meshMessageDeliveries: 2.9 }
    expect(forecast(stateOf({ topics: [topicState(counters)] }), withTopic, true, [-1])).toEqual([8])
  })
  it('forecasts when a mesh deficit begins to count', () => {
    const topics = [topicState({ inMesh: true, meshTime: 40_000 })]
    expect(forecast(stateOf({ topics }), withTopic, true, [0])).toEqual([10])
  })
  it('does not look beyond its horizon', () => {
    // The decay of 1000² invalid messages takes more than an hour.
    const topics = [topicState({ invalidMessageDeliveries: 1e15 })]
    expect(FORECAST_S).toBe(3_600)
    expect(forecast(stateOf({ topics }), withTopic, true, [0])).toEqual([null])
  })
})
