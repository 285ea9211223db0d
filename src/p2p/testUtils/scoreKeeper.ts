import { blocksTopic, PAYLOAD_VERSIONS } from '../base/topics.ts'
import type { TopicCounters } from '../gossip/adapter.ts'
import { GossipScore, type ScoreListener } from '../gossip/gossipScore.ts'
import { gossipScoring } from '../gossip/scoreParams.ts'
import { CHAIN_ID } from './testChain.ts'

export const TOPICS = new Map(PAYLOAD_VERSIONS.map((version) => [version, blocksTopic(CHAIN_ID, version)]))

/** The score keeper that gossipsub receives, with our parameters, for blocks every two seconds. */
export function scoreKeeper(
  options: Partial<Parameters<typeof gossipScoring>[0]> = {},
  scoreCacheValidityMs = 0,
  listener: ScoreListener = NO_NEWS,
) {
  const scoring = gossipScoring(
    { scoring: 'light', scoreBlocks: 'current', ipColocationExempt: [], ...options },
    { blockTimeS: 2, appScore: () => 0, topics: TOPICS, version: 3 },
  )
  return { scoring, score: new GossipScore(scoring.params, listener, scoreCacheValidityMs) }
}

const NO_NEWS = { onLeave: () => {}, onPenalty: () => {} }

/** gossipsub's counters of a peer on a topic. */
export function topicCounters(changes: Partial<TopicCounters> = {}): TopicCounters {
  return {
    inMesh: false,
    graftTime: 0,
    meshTime: 0,
    firstMessageDeliveries: 0,
    meshMessageDeliveries: 0,
    meshMessageDeliveriesActive: false,
    meshFailurePenalty: 0,
    invalidMessageDeliveries: 0,
    ...changes,
  }
}
