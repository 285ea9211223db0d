import { type PeerScores, ZERO_SCORES } from '../base/api.ts'
import type { TopicScores } from '../base/schemas.ts'
import type { PeerCounters, TopicCounters } from '../gossip/adapter.ts'
import type { GossipRouter } from '../gossip/router.ts'
import type { GossipScoring } from '../gossip/scoreParams.ts'
import type { AppScores } from './appScores.ts'
import { ipPart } from './explainScore.ts'

export type PeerScoreReader = ReturnType<typeof createPeerScoreReader>

export function createPeerScoreReader(
  modules: { router: Pick<GossipRouter, 'score' | 'counters' | 'peersOnIp'>; appScores: AppScores },
  params: GossipScoring['params'],
) {
  const { router, appScores } = modules
  return {
    of(peerId: string): PeerScores {
      const counters = router.counters(peerId)
      const ips = [...(counters?.knownIPs ?? [])].map((ip) => ipPart(ip, router.peersOnIp(ip), params))
      const ipColocation = ips.reduce((sum, { exempt, value }) => (exempt ? sum : sum + value), 0)
      return {
        gossip: gossipScores(router.score(peerId), counters, ipColocation),
        reqResp: appScores.counters(peerId),
      }
    },
  }
}

/** gossipsub's counters in op-node's form: counters summed over topics, and the longest time in a mesh in seconds. */
export function gossipScores(
  total: number,
  counters: PeerCounters | undefined,
  ipColocation: number,
): PeerScores['gossip'] {
  const blocks: TopicScores = { ...ZERO_SCORES.gossip.blocks }
  const topics: TopicCounters[] = Object.values(counters?.topics ?? {})
  for (const topic of topics) {
    if (topic.inMesh) blocks.timeInMesh = Math.max(blocks.timeInMesh, topic.meshTime / 1000)
    blocks.firstMessageDeliveries += topic.firstMessageDeliveries
    blocks.meshMessageDeliveries += topic.meshMessageDeliveries
    blocks.invalidMessageDeliveries += topic.invalidMessageDeliveries
  }
  return { total, blocks, IPColocationFactor: ipColocation, behavioralPenalty: counters?.behaviourPenalty ?? 0 }
}
