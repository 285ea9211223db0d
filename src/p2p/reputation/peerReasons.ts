import type { Clock } from '../../lib/clock.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import type { P2pApi } from '../base/api.ts'
import type { Ban } from '../base/records.ts'
import type { BanRecord, PeerEvent, PeerScoreReport, ScoreThreshold } from '../base/schemas.ts'
import { RESPONSE_TERMS, TOPIC_TERMS } from '../base/scoreTerms.ts'
import type { GossipRouter } from '../gossip/router.ts'
import type { GossipScoring } from '../gossip/scoreParams.ts'
import { parsePeerId } from '../host/multiaddrs.ts'
import type { AccessLists } from '../peers/accessLists.ts'
import type { AppScores } from './appScores.ts'
import { FORECAST_S, forecast, scoreParts, scoreState } from './explainScore.ts'
import { latestCauses } from './latestCauses.ts'
import { mainReason } from './mainReason.ts'
import type { PeerHistories } from './peerHistory.ts'
import { scoreAdvice } from './scoreAdvice.ts'

export interface PeerReasons extends Pick<P2pApi, 'peerScore' | 'peerHistory' | 'bans' | 'standings'> {
  /** Only for a connected peer. */
  mainReason(peerId: string): string
}

export interface PeerReasonsModules {
  clock: Clock
  router: Pick<GossipRouter, 'counters' | 'peersOnIp' | 'score'>
  versionOf(topic: string): number | undefined
  appScores: Pick<AppScores, 'counters'>
  scoring: GossipScoring
  histories: PeerHistories
  lists: AccessLists
  connected(): string[]
  isStatic(peerId: string): boolean
  isProtected(peerId: string): boolean
  /** Whether the peer's protocols include blocks by number; null: not known. */
  servesBlocks(peerId: string): Promise<boolean | null>
}

export function createPeerReasons(
  modules: PeerReasonsModules,
  options: { scored: boolean; banThreshold: number | undefined },
): PeerReasons {
  const { clock, scoring, histories, lists } = modules
  const { params, thresholds } = scoring

  const limits: Pick<ScoreThreshold, 'name' | 'value' | 'effect'>[] = [
    { name: 'mesh', value: 0, effect: 'not in our meshes: blocks travel to and from it only by lazy gossip' },
    {
      name: 'gossip',
      value: thresholds.gossipThreshold,
      effect: 'we announce no blocks to it and ignore its announcements (no IHAVE, no IWANT)',
    },
    { name: 'publish', value: thresholds.publishThreshold, effect: 'we do not send it our own blocks' },
    { name: 'graylist', value: thresholds.graylistThreshold, effect: 'everything that it gossips is dropped unread' },
  ]
  if (options.banThreshold !== undefined) {
    limits.push({ name: 'ban', value: options.banThreshold, effect: 'banned, and its connections are closed' })
  }

  const banRecord = (subject: string, { reason, expiryMs: untilMs }: Ban): BanRecord => {
    const remainingS = Math.max(0, Math.ceil((untilMs - clock.now()) / 1000))
    return { subject, kind: 'peer', reason, untilMs, remainingS }
  }

  const fullReport = async (peerId: string, isConnected: boolean): Promise<PeerScoreReport> => {
    const servesBlocks = await modules.servesBlocks(peerId)
    return { ...report(peerId, isConnected), servesBlocks }
  }
  const report = (peerId: string, isConnected: boolean): Omit<PeerScoreReport, 'servesBlocks'> => {
    const state = () =>
      scoreState(modules.router.counters(peerId), modules.appScores.counters(peerId), {
        versionOf: modules.versionOf,
        peersOnIp: modules.router.peersOnIp,
      })
    const parts = scoreParts(state(), params, options.scored)
    // Decay moves a positive score below no threshold, unless the mesh requires deliveries that do not arrive.
    const isMoving = isConnected && (hasBadPart(parts) || owesBlocks(parts))
    const changes = isMoving
      ? forecast(
          state(),
          params,
          options.scored,
          limits.map(({ value }) => value),
        )
      : []
    const counters = modules.router.counters(peerId)
    const keptUntilMs = counters === undefined || counters.connected ? undefined : counters.expire
    const ban = lists.peerBan(peerId, clock.now())
    const causes = causesOf(peerId)
    const found: Omit<PeerScoreReport, 'advice' | 'servesBlocks'> = {
      peerID: peerId,
      scored: options.scored,
      connected: isConnected,
      static: modules.isStatic(peerId),
      protected: modules.isProtected(peerId),
      ...parts,
      mainReason: mainReason({ ...parts, causes }),
      causes,
      thresholds: limits.map((limit, index) => ({
        ...limit,
        below: parts.total < limit.value,
        changesInS: changes[index] ?? null,
      })),
      forecastHorizonS: isConnected ? FORECAST_S : 0,
      forgottenInS: keptUntilMs === undefined ? null : Math.max(0, Math.ceil((keptUntilMs - clock.now()) / 1000)),
      ban: ban === undefined ? null : banRecord(peerId, ban),
      blocked: lists.blockedPeers.has(peerId),
      refusals: refusals(peerId),
    }
    return { ...found, advice: scoreAdvice(found) }
  }

  const causesOf = (peerId: string): PeerScoreReport['causes'] => {
    const events = histories.of(peerId)
    const scored = new Set(Object.keys(params.topics).map(modules.versionOf))
    const isScored = ({ topics }: PeerEvent): boolean => topics?.some((version) => scored.has(version)) === true
    return {
      rejections: latestCauses(
        events,
        (event) => event.kind === 'reject' && scoring.penalises(event.reason) && isScored(event),
      ),
      behaviour: latestCauses(events, ({ kind }) => kind === 'behaviour'),
      application: latestCauses(events, ({ kind, reason }) => kind === 'response' && reason !== 'valid-block'),
    }
  }
  /** Checks the IPs of the peer's connections, and the last IP in its history. */
  const refusals = (peerId: string): PeerScoreReport['refusals'] => {
    const found: PeerScoreReport['refusals'] = []
    if (lists.blockedPeers.has(peerId)) found.push({ subject: peerId, reason: 'it is on the block list' })
    const ips = new Set(modules.router.counters(peerId)?.knownIPs)
    const last = histories.of(peerId).findLast(({ kind }) => kind === 'connected')?.detail
    const lastIp = /^\/ip[46]\/([^/]+)\//.exec(last ?? '')?.[1]
    if (lastIp !== undefined) ips.add(lastIp)
    for (const ip of ips) {
      const entry = lists.addrBlock(ip)
      if (entry === undefined) continue
      const reason = entry === ip ? `its IP ${ip} is blocked` : `its IP ${ip} is in the blocked subnet ${entry}`
      found.push({ subject: entry, reason })
    }
    return found
  }

  return {
    mainReason: (peerId) => report(peerId, true).mainReason,
    async peerScore(text) {
      const connected = modules.connected()
      if (text !== undefined) {
        const peerId = parsePeerId(text).toString()
        return [await fullReport(peerId, connected.includes(peerId))]
      }
      const reports: PeerScoreReport[] = []
      for (const peerId of connected) {
        reports.push(await fullReport(peerId, true))
        await nextTurn()
      }
      return reports
    },
    async peerHistory(text) {
      const names = text === undefined ? histories.peers() : [parsePeerId(text).toString()]
      return names.map((peerID) => ({ peerID, events: histories.of(peerID) }))
    },
    standings() {
      const connected = new Set(modules.connected())
      const bans = new Map(lists.activeBans(clock.now()))
      return [...new Set([...connected, ...bans.keys(), ...lists.blockedPeers])].map((peerID) => {
        const ban = bans.get(peerID)
        const topics = Object.values(modules.router.counters(peerID)?.topics ?? {})
        return {
          peerID,
          connected: connected.has(peerID),
          score: modules.router.score(peerID),
          inMesh: topics.some(({ inMesh }) => inMesh),
          static: modules.isStatic(peerID),
          protected: modules.isProtected(peerID),
          blocked: lists.blockedPeers.has(peerID),
          ban: ban === undefined ? null : banRecord(peerID, ban),
        }
      })
    },
    async bans() {
      const bans = lists.activeBans(clock.now()).map(([peerId, ban]) => banRecord(peerId, ban))
      return bans.sort((a, b) => a.untilMs - b.untilMs)
    },
  }
}

function hasBadPart(parts: Pick<PeerScoreReport, 'topics' | 'application' | 'ipColocation' | 'behaviour'>): boolean {
  if (parts.application.score < 0 || parts.ipColocation.score < 0 || parts.behaviour.score < 0) return true
  if (RESPONSE_TERMS.some(({ name }) => parts.application[name].score < 0)) return true
  return parts.topics.parts.some((part) => TOPIC_TERMS.some(({ name }) => part[name].score < 0))
}

function owesBlocks({ topics }: Pick<PeerScoreReport, 'topics'>): boolean {
  return topics.parts.some(({ inMesh, meshDeficit }) => inMesh && meshDeficit.weight < 0)
}
