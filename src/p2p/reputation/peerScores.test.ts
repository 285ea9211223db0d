import { expect, it } from 'vitest'
import { ZERO_SCORES } from '../base/api.ts'
import type { PeerCounters } from '../gossip/adapter.ts'
import { scoreKeeper, topicCounters } from '../testUtils/scoreKeeper.ts'
import { createAppScores } from './appScores.ts'
import { createPeerScoreReader } from './peerScores.ts'

const PEERS_ON_IP: Record<string, number> = { '8.8.8.8': 12, '9.9.9.9': 10, '7.7.7.7': 2, '127.0.0.1': 20 }

function scoresOf(counters: PeerCounters | undefined) {
  const appScores = createAppScores()
  appScores.record('peer', 'validResponses')
  const router = {
    score: () => -3,
    counters: () => counters,
    peersOnIp: (ip: string) => Array.from({ length: PEERS_ON_IP[ip] ?? 0 }, (_, n) => `peer${n}`),
  }
  const { scoring } = scoreKeeper({ ipColocationExempt: ['127.0.0.0/8'] })
  return createPeerScoreReader({ router, appScores }, scoring.params).of('peer')
}

it("sums gossipsub's counters over topics, with the longest time in mesh and the squared IP surplus", () => {
  const counts = { firstMessageDeliveries: 1, meshMessageDeliveries: 2, invalidMessageDeliveries: 3 }
  const scores = scoresOf({
    connected: true,
    expire: 0,
    behaviourPenalty: 5,
    knownIPs: new Set(Object.keys(PEERS_ON_IP)),
    topics: {
      a: topicCounters({ inMesh: true, meshTime: 4_000, ...counts }),
      b: topicCounters({ inMesh: true, meshTime: 6_000, ...counts }),
      left: topicCounters({ inMesh: false, meshTime: 9_000 }),
    },
  })
  expect(scores).toEqual({
    gossip: {
      total: -3,
      blocks: {
        timeInMesh: 6,
        firstMessageDeliveries: 2,
        meshMessageDeliveries: 4,
        invalidMessageDeliveries: 6,
      },
      IPColocationFactor: 4,
      behavioralPenalty: 5,
    },
    reqResp: { ...ZERO_SCORES.reqResp, validResponses: 1 },
  })
})

it('has no counters for a peer that gossipsub does not know', () => {
  expect(scoresOf(undefined).gossip).toEqual({ ...ZERO_SCORES.gossip, total: -3 })
})
