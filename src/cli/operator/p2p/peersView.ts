import { z } from 'zod'
import { formatNumber } from '../../../lib/formatNumber.ts'
import { shortPeer } from '../../../lib/shortIds.ts'
import { accessRules, peerRecord, standing } from '../../../rpc/schemas/peers.ts'
import { formatTable, type LineWidth, peerFor, plainText } from '../../shared/table.ts'
import { formatSeconds, formatTime } from '../../shared/units.ts'
import { type NameOf, nameOfPeers } from './peerNames.ts'
import { bansSchema, dumpSchema } from './peerSchemas.ts'

/** Additions to deviump2p_peers. `self` and `standings` are undefined if the node does not serve them. */
export interface MoreOfPeers {
  /** deviump2p_self, because a node lists itself among its peers. */
  self?: unknown
  /** deviump2p_standings, which distinguishes static peers from protected peers. */
  standings?: unknown
  /** By peer id. */
  names?: Readonly<Record<string, string>>
}

/** Formats deviump2p_peers, connected peers first. Ids are shortened if the line is too narrow. */
export function formatPeers(answer: unknown, width: LineWidth, { self, standings, names = {} }: MoreOfPeers): string {
  const dump = dumpSchema.parse(answer)
  const staticIds = new Set(
    standings === undefined
      ? []
      : z
          .array(standing.pick({ peerID: true, static: true }))
          .parse(standings)
          .flatMap(({ peerID, static: isStatic }) => (isStatic ? [peerID] : [])),
  )
  const ownId = self === undefined ? undefined : peerRecord.pick({ peerID: true }).parse(self).peerID
  const peers = Object.values(dump.peers)
    .filter(({ peerID }) => peerID !== ownId)
    .sort((a, b) => Number(b.connectedness === 1) - Number(a.connectedness === 1))
  const rows = peers.map((peer) => [
    names[peer.peerID] ?? peerFor(peer.peerID, width),
    peer.connectedness === 1 ? (peer.direction === 1 ? 'inbound' : 'outbound') : '-',
    formatNumber(peer.scores.gossip.total),
    peer.gossipBlocks ? 'blocks' : '-',
    staticIds.has(peer.peerID) ? 'static' : peer.protected ? 'protected' : '-',
    peer.latency === 0 ? '-' : `${(peer.latency / 1e6).toFixed(1)} ms`,
    [peer.addresses[0]?.replace(/\/p2p\/.*$/, ''), peer.userAgent].filter(Boolean).join(' ') || '-',
  ])
  const table = formatTable(
    ['peer', 'connected', 'score', 'gossip', 'state', 'latency', 'address and agent'],
    rows,
    width,
  )
  const banned = [...dump.bannedPeers, ...dump.bannedIPS, ...dump.bannedSubnets]
  const notes = [
    `${dump.totalConnected} connected`,
    ...(banned.length === 0
      ? []
      : [`${banned.length} blocked or banned: ${banned.map(nameOfPeers(names)).join(', ')}`]),
  ]
  return rows.length === 0 ? notes.join('\n') : `${notes.join('\n')}\n\n${table}`
}

/** Formats deviump2p_bans. */
export function formatBans(answer: unknown, width?: LineWidth, nameOf: NameOf = shortPeer): string {
  const bans = bansSchema.parse(answer)
  if (bans.length === 0) return 'no active bans (your own blocks: devium p2p blocks)'
  const rows = bans.map(({ subject, reason, untilMs, remainingS }) => [
    width === undefined && nameOf(subject) === shortPeer(subject) ? subject : nameOf(subject),
    formatTime(untilMs),
    formatSeconds(remainingS),
    reason,
  ])
  const table = formatTable(['banned', 'until (UTC)', 'left', 'reason'], rows, width)
  return `${table}\n\nto end a ban: devium p2p unblock ${nameOf(bans[0]?.subject ?? '')}`
}

/** Bans that a line names; `devium p2p bans` has all. */
const MAX_NAMED = 3

/** deviump2p_bans in one line; undefined without bans. */
export function bansNote(answer: unknown): string | undefined {
  const bans = answer === undefined ? [] : bansSchema.parse(answer)
  if (bans.length === 0) return undefined
  const named = bans
    .slice(0, MAX_NAMED)
    .map(({ subject, reason, remainingS }) => `${shortPeer(subject)} for ${formatSeconds(remainingS)} more: ${reason}`)
  const more = bans.length > MAX_NAMED ? `; and ${bans.length - MAX_NAMED} more` : ''
  return plainText(`banned: ${named.join('; ')}${more}`)
}

/** Formats deviump2p_accessRules. */
export function formatRules(answer: unknown, names: Readonly<Record<string, string>> = {}): string {
  const { blocks, allow } = accessRules.parse(answer)
  const rows = blocks.map(({ subject, kind, reason, sinceMs }) => [
    kind,
    names[subject] === undefined ? subject : `${names[subject]}, ${subject}`,
    sinceMs === null ? '-' : formatTime(sinceMs),
    reason || '-',
  ])
  const [first] = blocks
  return [
    first === undefined
      ? 'the block list is empty (bans for a low score: devium p2p bans)'
      : `${formatTable(['kind', 'blocked', 'since', 'reason'], rows)}\n\nto unblock an entry: devium p2p unblock ${first.subject}`,
    ...(allow === null ? [] : [`only static peers and these may connect (--p2p.allow): ${allow.join(', ')}`]),
  ].join('\n\n')
}

/** Formats deviump2p_peerStats. */
export function formatStats(answer: unknown): string {
  const stats = z.record(z.string(), z.number()).parse(answer)
  const rows = Object.entries(stats).map(([name, count]) => [STATS[name] ?? name, String(count)])
  return formatTable(['peers', 'number'], rows)
}

const STATS: Record<string, string> = {
  connected: 'connected',
  table: 'in the discovery table',
  blocksTopic: 'on the blocks topic v1',
  blocksTopicV2: 'on the blocks topic v2',
  blocksTopicV3: 'on the blocks topic v3',
  blocksTopicV4: 'on the blocks topic v4',
  banned: 'blocked or banned',
  known: 'known, including this node',
}
