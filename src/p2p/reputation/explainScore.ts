import type { TopicScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import type { ReqRespScores } from '../base/api.ts'
import type { IpScorePart, PeerScoreReport, ScoreTerm, TopicScorePart } from '../base/schemas.ts'
import { perTerm, RESPONSE_TERMS, type TopicTerm } from '../base/scoreTerms.ts'
import type { PeerCounters, TopicCounters } from '../gossip/adapter.ts'
import type { GossipScoring } from '../gossip/scoreParams.ts'
import { decayed, decayedTopic } from '../gossip/topicScores.ts'
import { APP_DECAY, APP_WEIGHTS } from './appScores.ts'

type Params = GossipScoring['params']

/** All inputs of a score, current or forecast. */
export interface ScoreState {
  topics: { topic: string; version: number; counters: TopicCounters }[]
  behaviourPenalty: number
  application: ReqRespScores
  ips: { ip: string; peers: string[] }[]
}

export type ScoreParts = Pick<PeerScoreReport, 'total' | 'topics' | 'application' | 'ipColocation' | 'behaviour'>

/** A copy of gossipsub's current counters. Later events do not change the copy. */
export function scoreState(
  counters: PeerCounters | undefined,
  application: ReqRespScores,
  view: { versionOf(topic: string): number | undefined; peersOnIp(ip: string): string[] },
): ScoreState {
  const topics: ScoreState['topics'] = []
  for (const [topic, topicCounters] of Object.entries(counters?.topics ?? {})) {
    topics.push({ topic, version: view.versionOf(topic) ?? 0, counters: { ...topicCounters } })
  }
  return {
    topics,
    behaviourPenalty: counters?.behaviourPenalty ?? 0,
    application: { ...application },
    ips: [...(counters?.knownIPs ?? [])].map((ip) => ({ ip, peers: view.peersOnIp(ip) })),
  }
}

/** Gossipsub's formula (v1.1, "The Score Function"), with each term kept. `scored`: include the application score. */
export function scoreParts(state: ScoreState, params: Params, scored: boolean): ScoreParts {
  const topicParts: TopicScorePart[] = []
  for (const { topic, version, counters } of state.topics) {
    const topicParams = params.topics[topic]
    if (topicParams !== undefined) topicParts.push(topicPart(topic, version, counters, topicParams))
  }
  const topicSum = sum(topicParts)
  const topicScore = params.topicScoreCap > 0 ? Math.min(params.topicScoreCap, topicSum) : topicSum

  const weight = scored ? params.appSpecificWeight : 0
  const responses = perTerm(RESPONSE_TERMS, (name) => term(state.application[name], APP_WEIGHTS[name] * weight))
  const application = { score: sum(Object.values(responses)), ...responses }

  const ipParts = state.ips.map(({ ip, peers }) => ipPart(ip, peers, params))
  const ipColocation = { score: sum(ipParts), parts: ipParts }

  const excess = Math.max(0, state.behaviourPenalty - params.behaviourPenaltyThreshold) ** 2
  const behaviour = {
    score: product(excess, params.behaviourPenaltyWeight),
    penalties: state.behaviourPenalty,
    threshold: params.behaviourPenaltyThreshold,
    value: excess,
    weight: params.behaviourPenaltyWeight,
  }
  return {
    total: topicScore + application.score + ipColocation.score + behaviour.score,
    topics: { score: topicScore, cap: params.topicScoreCap, parts: topicParts },
    application,
    ipColocation,
    behaviour,
  }
}

export function ipPart(ip: string, peers: string[], params: Params): IpScorePart {
  const exemptBy = params.IPColocationFactorWhitelist.rangeOf(ip) ?? null
  const { IPColocationFactorThreshold: threshold, IPColocationFactorWeight: weight } = params
  const value = Math.max(0, peers.length - threshold) ** 2
  const score = exemptBy === null ? product(value, weight) : 0
  return { ip, peers, threshold, value, weight, score, exempt: exemptBy !== null, exemptBy }
}

function topicPart(topic: string, version: number, counters: TopicCounters, params: TopicScoreParams): TopicScorePart {
  const quanta = counters.inMesh ? Math.min(params.timeInMeshCap, counters.meshTime / params.timeInMeshQuantum) : 0
  const first = Math.min(params.firstMessageDeliveriesCap, counters.firstMessageDeliveries)
  const shortfall = counters.meshMessageDeliveriesActive
    ? Math.max(0, params.meshMessageDeliveriesThreshold - counters.meshMessageDeliveries)
    : 0
  const terms: Record<TopicTerm, ScoreTerm> = {
    timeInMesh: term(quanta, params.timeInMeshWeight),
    firstDeliveries: term(first, params.firstMessageDeliveriesWeight),
    meshDeficit: term(shortfall ** 2, params.meshMessageDeliveriesWeight),
    meshFailures: term(counters.meshFailurePenalty, params.meshFailurePenaltyWeight),
    invalidMessages: term(counters.invalidMessageDeliveries ** 2, params.invalidMessageDeliveriesWeight),
  }
  const { topicWeight } = params
  const score = sum(Object.values(terms)) * topicWeight
  return { topic, version, inMesh: counters.inMesh, topicWeight, ...terms, score }
}

/** Advances the state by one slot without events, as gossipsub and the application scores do for a connected peer. */
export function decayState(state: ScoreState, params: Params): void {
  for (const { topic, counters } of state.topics) {
    const topicParams = params.topics[topic]
    if (topicParams === undefined) continue
    Object.assign(counters, decayedTopic(counters, topicParams))
    if (!counters.inMesh) continue
    counters.meshTime += params.decayInterval
    if (counters.meshTime > topicParams.meshMessageDeliveriesActivation) counters.meshMessageDeliveriesActive = true
  }
  state.behaviourPenalty = decayed(state.behaviourPenalty, params.behaviourPenaltyDecay)
  state.application = perTerm(RESPONSE_TERMS, (name) => decayed(state.application[name], APP_DECAY))
}

/**
 * Forecast range. Decaying counters reach zero within it: invalid messages take longest, 1 % is left after 50 epochs of
 * 12 s.
 */
export const FORECAST_S = 3_600

/**
 * For each threshold, the seconds until the total first crosses it if only decay acts; null when not within
 * `FORECAST_S`. Modifies `state`.
 */
export function forecast(
  state: ScoreState,
  params: Params,
  scored: boolean,
  thresholds: readonly number[],
): (number | null)[] {
  const start = scoreParts(state, params, scored).total
  const wasBelow = thresholds.map((value) => start < value)
  const crossedInS: (number | null)[] = thresholds.map(() => null)
  const slots = Math.ceil((FORECAST_S * 1000) / params.decayInterval)
  for (let slot = 1; slot <= slots && crossedInS.includes(null); slot++) {
    decayState(state, params)
    const { total } = scoreParts(state, params, scored)
    for (const [index, value] of thresholds.entries()) {
      if (crossedInS[index] !== null || total < value === wasBelow[index]) continue
      crossedInS[index] = (slot * params.decayInterval) / 1000
    }
    if (isAtRest(state)) break
  }
  return crossedInS
}

/** True: nothing but time in a mesh can change the total, and that only raises it. */
function isAtRest(state: ScoreState): boolean {
  if (state.behaviourPenalty > 0 || Object.values(state.application).some((count) => count > 0)) return false
  return state.topics.every(({ counters }) => {
    const left = counters.firstMessageDeliveries + counters.meshMessageDeliveries + counters.meshFailurePenalty
    return left + counters.invalidMessageDeliveries === 0 && !counters.inMesh
  })
}

function term(value: number, weight: number): ScoreTerm {
  return { value, weight, score: product(value, weight) }
}

/** Never -0: some JSON writers print the sign and others do not. */
function product(a: number, b: number): number {
  return a * b || 0
}

function sum(parts: readonly { score: number }[]): number {
  return parts.reduce((total, { score }) => total + score, 0)
}
