import { z } from 'zod'
import { formatNumber } from '../../../lib/formatNumber.ts'
import { countOf } from '../../../lib/phrases.ts'
import { shortPeer } from '../../../lib/shortIds.ts'
import { causeText } from '../../../p2p/base/eventText.ts'
import { scoreRows } from '../../../p2p/base/scoreRows.ts'
import { formatTable, type LineWidth, plainText, wrapText } from '../../shared/table.ts'
import { formatSeconds, formatTime } from '../../shared/units.ts'
import { formatEvents } from './historyView.ts'
import type { NameOf } from './peerNames.ts'
import { historySchema, type PeerEvents, type Score, scoreSchema } from './peerSchemas.ts'

/** deviump2p_peerScore and deviump2p_peerHistory of one peer. */
export const explanationSchema = z.object({ score: scoreSchema, history: historySchema })

/** Formats the explanation of one peer. */
export function formatExplanation(answers: unknown, width?: LineWidth, nameOf: NameOf = shortPeer): string {
  const { score: report, history } = explanationSchema.parse(answers)
  return [
    headline(report, width, nameOf),
    partsTable(report, width),
    section('causes', causesOf(report, nameOf), width),
    section('consequences', [...consequencesOf(report, nameOf), ...whyNotInMesh(report, history.events)], width),
    section('advice', report.advice, width),
    `history\n${formatEvents(history.events, width)}`,
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

/** Formats deviump2p_peerScore of all connected peers: one line each, the worst first. */
export function formatScores(answer: unknown, width?: LineWidth, nameOf: NameOf = shortPeer): string {
  const reports = scoreSchema
    .array()
    .parse(answer)
    .sort((a, b) => a.total - b.total)
  if (reports.length === 0) return 'no connected peers'
  const rows = reports.map((report) => [
    nameOf(report.peerID),
    formatNumber(report.total),
    STATE_NAMES[report.thresholds.findLast(({ below }) => below)?.name ?? ''] ?? '-',
    report.mainReason,
  ])
  const table = formatTable(['peer', 'score', 'state', 'main reason'], rows, width)
  return `${table}\n\ndetails of a peer: devium p2p explain ${nameOf(reports[0]?.peerID ?? '')}`
}

/** The state of a peer, by the lowest threshold that its score is below. */
const STATE_NAMES: Record<string, string> = {
  '': 'good',
  mesh: 'no mesh',
  gossip: 'no gossip',
  publish: 'no publish',
  graylist: 'graylisted',
  ban: 'ban due',
}

function section(title: string, lines: readonly string[], width: LineWidth): string {
  if (lines.length === 0) return ''
  const room = width === undefined ? undefined : width - 4
  return [title, ...lines.map((line) => `  ${wrapText(plainText(line), room, 4)}`)].join('\n')
}

function headline(report: Score, width: LineWidth, nameOf: NameOf): string {
  const name = nameOf(report.peerID)
  const who = name === shortPeer(report.peerID) ? report.peerID : `${name}, ${report.peerID}`
  const traits = [
    report.connected ? 'connected' : 'not connected',
    ...(report.static ? ['static (never banned for its score)'] : []),
    ...(report.protected && !report.static ? ['protected from trimming'] : []),
    ...(report.scored ? [] : ['scoring is off (--p2p.scoring none)']),
  ]
  const score = `score ${formatNumber(report.total)}${report.total === 0 ? '' : `, main reason: ${report.mainReason}`}`
  return [who, score, traits.join(', ')].map((line) => wrapText(plainText(line), width, 2)).join('\n')
}

const PART_COLUMNS = ['term', 'count', 'weight', 'score']

function partsTable(report: Score, width: LineWidth): string {
  const rows = scoreRows(report).map(({ name, count, weight, score }) => [name, count, weight, formatNumber(score)])
  if (rows.length === 0) return 'no score term applies'
  if (rows.length > 1) rows.push(['total', '', '', formatNumber(report.total)])
  return formatTable(PART_COLUMNS, rows, width)
}

function causesOf(report: Score, nameOf: NameOf): string[] {
  const { rejections, behaviour, application } = report.causes
  const lines = [
    ...rejections.map((cause) => `invalid message: ${causeText(cause)} (${formatTime(cause.lastMs)})`),
    ...behaviour.map((cause) => `misbehaviour: ${causeText(cause)} (${formatTime(cause.lastMs)})`),
    ...application.map((cause) => `request: ${causeText(cause)} (${formatTime(cause.lastMs)})`),
  ]
  for (const { ip, peers, score, exemptBy } of report.ipColocation.parts) {
    const others = peers.filter((peer) => peer !== report.peerID).map(nameOf)
    if (score < 0) lines.push(`same IP ${ip}: ${others.join(', ')}`)
    else if (exemptBy !== null && others.length > 0) {
      lines.push(
        `same IP ${ip}: ${countOf(others.length, 'other peer')}, at no cost in score (--p2p.score.ip-exempt ${exemptBy})`,
      )
    }
  }
  return lines
}

function consequencesOf(report: Score, nameOf: NameOf): string[] {
  const lines: string[] = []
  if (report.servesBlocks === false)
    lines.push('it does not serve blocks by number, like op-node since v1.20, which costs no score')
  if (report.ban !== null) {
    const { reason, untilMs, remainingS } = report.ban
    lines.push(`banned until ${formatTime(untilMs)} UTC (${formatSeconds(remainingS)} more): ${reason}`)
    lines.push(`to end the ban and reset the score: devium p2p unblock ${nameOf(report.peerID)}`)
  }
  for (const { subject, reason } of report.refusals) {
    lines.push(`refused: ${reason}`)
    lines.push(`to unblock it: devium p2p unblock ${nameOf(subject)}`)
  }
  if (!report.connected) return [...lines, ...effectsOnReturn(report)]
  for (const { name, value, below, effect, changesInS } of report.thresholds) {
    if (name === 'ban' && report.static) continue
    if (below) lines.push(`below ${value} (${name}): ${effect}; ${recovery(report, name, changesInS)}`)
    else if (changesInS !== null)
      lines.push(`falls below ${value} (${name}) in ${formatSeconds(changesInS)}: ${effect}`)
  }
  const ban = report.thresholds.find(({ name }) => name === 'ban')
  if (ban !== undefined && !ban.below && report.total < 0 && !report.static) {
    lines.push(`${formatNumber(report.total - ban.value)} points above the ban at ${ban.value}`)
  }
  if (lines.length === 0) lines.push('above every threshold')
  return lines
}

/** Why a connected peer is not in our mesh although our score allows it. The peer decides this, so our score does not show it. */
function whyNotInMesh(report: Score, events: PeerEvents): string[] {
  if (!report.connected || report.topics.parts.some(({ inMesh }) => inMesh)) return []
  const changes = events.filter(({ kind }) => kind === 'graft' || kind === 'prune')
  const left = changes.filter(({ kind, reason }) => kind === 'prune' && reason === 'by-peer')
  if (left.length === 0 || left.at(-1) !== changes.at(-1)) return []
  const often = left.length === 1 ? 'it left our mesh' : 'it leaves our mesh repeatedly'
  return [
    `${often}: it has enough mesh peers, or its score of this node is below 0`,
    'op-node of 2024 scores every peer below 0 after 48 s',
    'lazy gossip still carries blocks in both directions',
  ]
}

/** The consequences when the disconnected peer returns. */
function effectsOnReturn(report: Score): string[] {
  const { ban, forgottenInS } = report
  if (ban !== null && forgottenInS !== null && forgottenInS < ban.remainingS) {
    return [`the score expires before the ban ends (in ${formatSeconds(forgottenInS)}), so the peer starts again at 0`]
  }
  const lowest = report.thresholds.findLast(({ name, below }) => below && !(name === 'ban' && report.static))
  const lines: string[] = []
  if (lowest !== undefined) lines.push(`when it reconnects, below ${lowest.value} (${lowest.name}): ${lowest.effect}`)
  if (forgottenInS !== null) {
    lines.push(
      `the score does not change while the peer is disconnected, and expires in ${formatSeconds(forgottenInS)}`,
    )
  }
  return lines
}

function recovery(report: Score, name: string, changesInS: number | null): string {
  if (name === 'ban') return 'immediately'
  if (changesInS !== null) return `ends in ${formatSeconds(changesInS)} without new events`
  return `does not end within ${formatSeconds(report.forecastHorizonS)} without action`
}
