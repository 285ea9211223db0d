import { describe, expect, it } from 'vitest'
import { ZERO_SCORES } from '../base/api.ts'
import { createAppScores } from './appScores.ts'

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
  it('decays to zero, for connected peers only', () => {
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
  it('reports each recorded event', () => {
    const reported: unknown[] = []
    const scores = createAppScores((...what) => reported.push(what))
    scores.record('a', 'errorResponses', 'timeout')
    expect(reported).toEqual([['a', 'errorResponses', 'timeout']])
  })
  it('restores saved counters, and nothing for a peer without counters', () => {
    const scores = createAppScores()
    scores.restore('a', { ...ZERO_SCORES.reqResp, errorResponses: 2 })
    scores.restore('b', ZERO_SCORES.reqResp)
    expect(scores.peers()).toEqual(['a'])
    expect(scores.score('a')).toBe(-2)
  })
})
