import type { PeerScoreReport } from '../../p2p/base/schemas.ts'
import { perTerm, RESPONSE_TERMS } from '../../p2p/base/scoreTerms.ts'
import { APP_WEIGHTS } from '../../p2p/reputation/appScores.ts'
import { scoreAdvice } from '../../p2p/reputation/scoreAdvice.ts'

export const PEER_A = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuHc7RqNtL9'
export const PEER_B = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2rYUqNnZ7'

export const term = (value: number, weight: number) => ({ value, weight, score: value * weight || 0 })

/** deviump2p_peerScore of a connected peer that has answered requests. */
export function scoreReport(changes: Partial<PeerScoreReport> = {}): PeerScoreReport {
  const report = {
    peerID: PEER_A,
    scored: true,
    connected: true,
    static: false,
    protected: false,
    total: 4,
    servesBlocks: true,
    mainReason: 'requests answered with good blocks',
    topics: { score: 0, cap: 0, parts: [] },
    application: {
      score: 4,
      ...perTerm(RESPONSE_TERMS, (name) => term(0, APP_WEIGHTS[name])),
      validResponses: term(8, 0.5),
    },
    ipColocation: { score: 0, parts: [] },
    behaviour: { score: 0, penalties: 0, threshold: 6, value: 0, weight: -16 },
    causes: { rejections: [], behaviour: [], application: [] },
    thresholds: [],
    forecastHorizonS: 3_600,
    forgottenInS: null,
    ban: null,
    blocked: false,
    refusals: [],
    ...changes,
  }
  return { ...report, advice: scoreAdvice(report) }
}
