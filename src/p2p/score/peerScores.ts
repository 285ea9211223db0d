import type { PeerScores } from '../api.ts'
import type { GossipRouter } from '../gossip/router.ts'
import { gossipScores } from '../peerRecords.ts'
import type { AppScores } from './appScores.ts'
import type { GossipScoring } from './scoreParams.ts'

/** A peer's scores as they stand now. */
export interface PeerScoreReader {
  of(peerId: string): PeerScores
}

export function createPeerScoreReader(
  modules: { router: Pick<GossipRouter, 'score' | 'counters' | 'peersOnIp'>; appScores: AppScores },
  params: Pick<GossipScoring['params'], 'IPColocationFactorThreshold' | 'IPColocationFactorWhitelist'>,
): PeerScoreReader {
  const { router, appScores } = modules
  return {
    of(peerId) {
      const counters = router.counters(peerId)
      let ipColocation = 0
      for (const ip of counters?.knownIPs ?? []) {
        if (params.IPColocationFactorWhitelist.has(ip)) continue
        const surplus = router.peersOnIp(ip).length - params.IPColocationFactorThreshold
        if (surplus > 0) ipColocation += surplus * surplus
      }
      return {
        gossip: gossipScores(router.score(peerId), counters, ipColocation),
        reqResp: appScores.counters(peerId),
      }
    },
  }
}
