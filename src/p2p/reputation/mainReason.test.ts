import { describe, expect, it } from 'vitest'
import { ZERO_SCORES } from '../base/api.ts'
import { scoreKeeper, topicCounters } from '../testUtils/scoreKeeper.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { type ScoreState, scoreParts } from './explainScore.ts'
import { mainReason } from './mainReason.ts'
import { scoreAdvice } from './scoreAdvice.ts'

const { params } = scoreKeeper().scoring
const cause = (reason: string, topics?: number[]) => ({
  ...{ reason, count: 1, lastMs: 0 },
  ...(topics === undefined ? {} : { topics }),
})
const CAUSES = {
  rejections: [cause('author'), cause('bad-signature', [4]), cause('wrong-hash', [3])],
  behaviour: [cause('flood'), cause('slow')],
  application: [cause('timeout')],
}
const topic = (changes: Parameters<typeof topicCounters>[0]) => [
  { topic: TOPIC, version: 3, counters: topicCounters(changes) },
]
function parts(changes: Partial<ScoreState>) {
  const state = { topics: [], behaviourPenalty: 0, application: { ...ZERO_SCORES.reqResp }, ips: [], ...changes }
  return scoreParts(state, params, true)
}
const crowd = (ip: string) => ({ ip, peers: Array.from({ length: 12 }, (_, n) => `peer${n}`) })
const answers = (changes: Partial<ScoreState['application']>) => ({
  application: { ...ZERO_SCORES.reqResp, ...changes },
})

describe('mainReason', () => {
  it.each<[string, Partial<ScoreState>]>([
    ['no score term applies', {}],
    ['first to deliver blocks', { topics: topic({ firstMessageDeliveries: 9, inMesh: true, meshTime: 9_000 }) }],
    ['requests answered with good blocks', answers({ validResponses: 4 })],
    ['requests failed (last: timeout)', answers({ validResponses: 9, errorResponses: 2 })],
    ['false blocks in answer to requests', answers({ errorResponses: 9, rejectedPayloads: 1 })],
    [
      'invalid messages on v3 (last: wrong-hash)',
      { topics: topic({ firstMessageDeliveries: 20, invalidMessageDeliveries: 2 }) },
    ],
    ['blocks that it had and did not deliver', { topics: topic({ meshFailurePenalty: 9 }) }],
    ['misbehaviour (last: flood)', { behaviourPenalty: 8, ips: [] }],
    ['12 peers on 8.8.8.8', { behaviourPenalty: 8, ips: [crowd('8.8.8.8')] }],
  ])('%s', (text, state) => {
    expect(mainReason({ ...parts(state), causes: CAUSES })).toBe(text)
  })

  it('applies the topic weight when it compares terms', () => {
    // 2.4 · 0.8 = 1.92 against 2.
    const topics = topic({ firstMessageDeliveries: 2.4 })
    expect(mainReason({ ...parts({ topics, ...answers({ validResponses: 4 }) }), causes: CAUSES })).toContain(
      'requests',
    )
  })

  it('names no last cause if no cause is known', () => {
    const causes = { rejections: [cause('bad-signature', [4])], behaviour: [], application: [] }
    expect(mainReason({ ...parts({ topics: topic({ invalidMessageDeliveries: 2 }) }), causes })).toBe(
      'invalid messages on v3',
    )
    expect(mainReason({ ...parts({ behaviourPenalty: 8 }), causes })).toBe('misbehaviour')
  })
})

describe('scoreAdvice', () => {
  const advice = (state: Partial<ScoreState>, changes: { static?: boolean; connected?: boolean } = {}) =>
    scoreAdvice({
      ...{ peerID: 'peer', scored: true, connected: true, static: false, protected: false },
      ...parts(state),
      ...{ mainReason: '', causes: CAUSES, thresholds: [], forecastHorizonS: 0, forgottenInS: null, ban: null },
      ...{ blocked: false, refusals: [], ...changes },
    }).map((sentence) => sentence.split(/[:.,;]/)[0])

  it('has one sentence for each negative part', () => {
    const bad = {
      topics: topic({ meshFailurePenalty: 9, invalidMessageDeliveries: 2 }),
      ips: [crowd('8.8.8.8'), { ip: '9.9.9.9', peers: ['peer'] }],
      behaviourPenalty: 8,
      ...answers({ errorResponses: 1, rejectedPayloads: 1 }),
    }
    const expected = [
      'The penalty for invalid messages decays if no more arrive',
      'It announces blocks',
      'If you know the peers on 8',
      'The penalty for misbehaviour decays if the peer stops',
      'Requests for blocks by number fail',
      'It answers requests with blocks that are not on this chain',
    ]
    expect(advice(bad)).toEqual([...expected, 'A peer in --p2p'])
    expect(advice(bad, { static: true })).toEqual(expected)
  })

  it('names the IP range to exempt', () => {
    const ranges = ['8.8.8.8', '2001:db8::1', '2001:db8::/64'].map((ip) =>
      scoreAdvice({
        ...{ peerID: 'peer', scored: true, connected: true, static: true, protected: false },
        ...parts({ ips: [crowd(ip)] }),
        ...{ mainReason: '', causes: CAUSES, thresholds: [], forecastHorizonS: 0, forgottenInS: null, ban: null },
        ...{ blocked: false, refusals: [] },
      })[0]
        ?.split(' ')
        .at(-1),
    )
    expect(ranges).toEqual(['8.8.8.8/32', '2001:db8::1/128', '2001:db8::/64'])
  })

  it('advises how to raise a score only for a connected peer on a scored topic', () => {
    expect(advice({ topics: topic({}) })).toEqual(['Time in the mesh'])
    expect(advice({ topics: topic({}) }, { connected: false })).toEqual([])
    expect(advice({})).toEqual([])
  })
})
