import { ScorePenalty } from '@chainsafe/libp2p-gossipsub/metrics'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { scoreKeeper } from '../testUtils/scoreKeeper.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { followWallClock } from './wallClockJumps.ts'

const START_MS = 1_700_000_000_000

/** Gossipsub's own score keeper with its other stored times, and both clocks. */
function gossipAtStart() {
  let steadyMs = 0
  const { score } = scoreKeeper({}, 500)
  const internals = {
    score,
    gossipTracer: { promises: new Map([['id', new Map([['peer', START_MS + 3_000]])]]) },
    backoff: new Map([[TOPIC, new Map([['peer', START_MS + 60_000]])]]),
    heartbeat: async () => score.refreshScores(),
  }
  internals.heartbeat = followWallClock(internals, Date.now, () => steadyMs)(internals.heartbeat)
  return {
    internals,
    score,
    /** Seconds pass, and the clock is set by `stepS`. */
    async pass(seconds: number, stepS = 0) {
      steadyMs += seconds * 1_000
      vi.setSystemTime(Date.now() + (seconds + stepS) * 1_000)
      await internals.heartbeat()
    },
  }
}

describe.each([-86_400, -600, 600, 86_400])('a clock that is set by %i s', (stepS) => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: START_MS }))
  afterEach(() => vi.useRealTimers())

  it('does not change the time in mesh', async () => {
    const { score, pass } = gossipAtStart()
    score.addPeer('peer')
    score.graft('peer', TOPIC)
    await pass(60)
    const before = score.score('peer')
    await pass(1, stepS)
    expect(score.peerStats.get('peer')?.topics[TOPIC]?.meshTime).toBe(61_000)
    expect(score.score('peer')).toBeCloseTo(before, 1)
  })

  it('does not lower the score of a peer grafted just after', async () => {
    const { score, internals } = gossipAtStart()
    score.addPeer('peer')
    vi.setSystemTime(Date.now() + stepS * 1_000)
    score.graft('peer', TOPIC)
    await internals.heartbeat()
    expect(score.score('peer')).toBeGreaterThanOrEqual(0)
  })

  it('shifts the expiry of promises, back-offs and stored scores', async () => {
    const { internals, score, pass } = gossipAtStart()
    score.addPeer('peer')
    score.addPenalty('peer', 20, ScorePenalty.BrokenPromise)
    score.removePeer('peer')
    const keptMs = (score.peerStats.get('peer')?.expire ?? 0) - START_MS
    await pass(1, stepS)
    const steppedMs = START_MS + stepS * 1_000
    expect(internals.gossipTracer.promises.get('id')?.get('peer')).toBe(steppedMs + 3_000)
    expect(internals.backoff.get(TOPIC)?.get('peer')).toBe(steppedMs + 60_000)
    expect(score.peerStats.get('peer')?.expire).toBe(steppedMs + keptMs)
  })
})
