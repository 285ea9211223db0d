import { formatNumber } from '../../../lib/formatNumber.ts'
import { shortPeer } from '../../../lib/shortIds.ts'
import { eventText } from '../../../p2p/base/eventText.ts'
import { formatTable, type LineWidth } from '../../shared/table.ts'
import { formatTime } from '../../shared/units.ts'
import type { NameOf } from './peerNames.ts'
import { historySchema, type PeerEvents } from './peerSchemas.ts'

/** Limit of the events shown for several peers together; the latest are kept. */
const MAX_TOGETHER = 50

/** Formats the events of one peer. */
export function formatEvents(events: PeerEvents, width: LineWidth): string {
  if (events.length === 0) return 'no recorded events'
  const rows = events.map((event) => [formatTime(event.lastMs), formatNumber(event.score), eventText(event)])
  return formatTable(['time (UTC)', 'score', 'event'], rows, width)
}

/** Formats deviump2p_peerHistory of all peers as one list, the latest events last. */
export function formatHistories(answer: unknown, width: LineWidth, nameOf: NameOf = shortPeer): string {
  const all = historySchema
    .array()
    .parse(answer)
    .flatMap(({ peerID, events }) => events.map((event) => ({ peerID, event })))
    .sort((a, b) => a.event.lastMs - b.event.lastMs)
  if (all.length === 0) return 'no recorded events'
  const rows = all
    .slice(-MAX_TOGETHER)
    .map(({ peerID, event }) => [formatTime(event.lastMs), nameOf(peerID), formatNumber(event.score), eventText(event)])
  const table = formatTable(['time (UTC)', 'peer', 'score', 'event'], rows, width)
  if (all.length <= MAX_TOGETHER) return table
  return `${table}\n\nthe latest ${MAX_TOGETHER} of ${all.length} events. All events of one peer: devium p2p history <peer>`
}

export function formatHistory(answer: unknown, width: LineWidth): string {
  const { peerID, events } = historySchema.parse(answer)
  return `${peerID}\n\n${formatEvents(events, width)}`
}
