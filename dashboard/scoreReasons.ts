import { formatNumber } from '../src/lib/formatNumber.ts'
import { causeText } from '../src/p2p/base/eventText.ts'
import type { PeerScoreReport, ScoreCause, ScoreThreshold } from '../src/p2p/base/schemas.ts'
import { ago, clockTime, countOf, duration } from './format.ts'

/** Number of shown peers on the same IP address. */
const SHOWN_NEIGHBOURS = 5

/** Thresholds with the same value. */
export interface ScoreLimit {
  names: string[]
  value: number
  isCrossed: boolean
}

/** The thresholds that apply to the peer, the highest first. */
export function limitsOf(report: Pick<PeerScoreReport, 'thresholds' | 'static'>): ScoreLimit[] {
  const limits = new Map<number, ScoreLimit>()
  for (const threshold of report.thresholds) {
    if (!holds(threshold, report)) continue
    const { name, value, below } = threshold
    const limit = limits.get(value) ?? { names: [], value, isCrossed: below }
    limit.names.push(name)
    limits.set(value, limit)
  }
  return [...limits.values()].sort((a, b) => b.value - a.value)
}

/** Static peers are never banned for their score. */
function holds({ name }: ScoreThreshold, report: Pick<PeerScoreReport, 'static'>): boolean {
  return name !== 'ban' || !report.static
}

/** `gossip -10`, or `publish, graylist -40`. */
export function limitText({ names, value }: ScoreLimit): string {
  return `${names.join(', ')} ${formatNumber(value)}`
}

/** Current consequences, and those that follow while the peer stays as it is. */
export function consequences(report: PeerScoreReport): string[] {
  const lines = report.refusals.map(({ reason }) => `refused: ${reason}`)
  const { ban, forgottenInS, forecastHorizonS } = report
  if (ban !== null) {
    const left = duration(ban.remainingS * 1_000)
    lines.push(`refused until ${clockTime(ban.untilMs)} (${left} left), unless you unblock it`)
  }
  if (!report.connected) {
    if (forgottenInS !== null)
      lines.push(
        `the score does not change while the peer is disconnected, and expires in ${duration(forgottenInS * 1_000)}`,
      )
    return lines
  }
  for (const threshold of report.thresholds) {
    if (!holds(threshold, report)) continue
    const { name, value, below, effect, changesInS } = threshold
    if (below) {
      const end =
        changesInS === null
          ? `does not end within ${duration(forecastHorizonS * 1_000)} without action`
          : `ends in ${duration(changesInS * 1_000)} without new events`
      lines.push(`below ${formatNumber(value)} (${name}): ${effect}; ${name === 'ban' ? 'immediately' : end}`)
    } else if (changesInS !== null)
      lines.push(`falls below ${formatNumber(value)} (${name}) in ${duration(changesInS * 1_000)}: ${effect}`)
  }
  if (lines.length === 0) lines.push('the score is above every threshold')
  return lines
}

/** The causes of the negative parts. */
export function causes(
  { causes: { rejections, behaviour, application }, ipColocation, peerID }: PeerScoreReport,
  now: number,
  nameOf: (peerId: string) => string,
): string[] {
  const of = (what: string) => (cause: ScoreCause) => `${what}: ${causeText(cause)} (${ago(now, cause.lastMs)})`
  return [
    ...rejections.map(of('invalid message')),
    ...behaviour.map(of('misbehaviour')),
    ...application.map(of('request')),
    ...ipColocation.parts
      .filter(({ score: points }) => points < 0)
      .map(({ ip, peers }) => `same IP ${ip}: ${someOf(peers.filter((peer) => peer !== peerID).map(nameOf))}`),
  ]
}

function someOf(names: readonly string[]): string {
  const named = names.slice(0, SHOWN_NEIGHBOURS)
  const others = names.length - named.length
  return others === 0 ? named.join(', ') : `${named.join(', ')} and ${countOf(others, 'other')}`
}
