import { shortHash, shortPeer } from '../../../lib/shortIds.ts'
import { formatTable, type LineWidth } from '../../shared/table.ts'
import { formatNumber, formatTime } from '../../shared/units.ts'
import { historySchema, type PeerEvents, type ScoreCause } from './peerSchemas.ts'

type PeerEvent = PeerEvents[number]

/** Of several peers together the latest ones only. */
const MAX_TOGETHER = 50

/** What one peer did, and what was done to it. */
export function formatEvents(events: PeerEvents, width: LineWidth): string {
  if (events.length === 0) return 'nothing is written down about it'
  const rows = events.map((event) => [formatTime(event.lastMs), formatNumber(event.score), eventText(event)])
  return formatTable(['when (UTC)', 'score', 'what happened'], rows, width)
}

/** deviump2p_peerHistory of all peers, as one story: the latest events come last. */
export function formatHistories(answer: unknown, width: LineWidth): string {
  const all = historySchema
    .array()
    .parse(answer)
    .flatMap(({ peerID, events }) => events.map((event) => ({ peerID, event })))
    .sort((a, b) => a.event.lastMs - b.event.lastMs)
  if (all.length === 0) return 'nothing has happened yet'
  const rows = all
    .slice(-MAX_TOGETHER)
    .map(({ peerID, event }) => [
      formatTime(event.lastMs),
      shortPeer(peerID),
      formatNumber(event.score),
      eventText(event),
    ])
  const table = formatTable(['when (UTC)', 'peer', 'score', 'what happened'], rows, width)
  if (all.length <= MAX_TOGETHER) return table
  return `${table}\n\nthe latest ${MAX_TOGETHER} of ${all.length} events; all of one peer: devium p2p history <peer>`
}

export function formatHistory(answer: unknown, width: LineWidth): string {
  const { peerID, events } = historySchema.parse(answer)
  return `${peerID}\n\n${formatEvents(events, width)}`
}

/** `wrong-hash twice, block 9 0xabab…abab on v3: computed 0x12`. */
export function causeText({ reason, count, block, topics, detail }: ScoreCause): string {
  const about = [
    ...(block === undefined ? [] : [`block ${block.number} ${shortHash(block.hash)}`]),
    ...(topics === undefined ? [] : [`on ${topics.map((version) => `v${version}`).join(' ')}`]),
  ].join(' ')
  const times = count === 1 ? '' : ` ${count} times`
  const more = detail?.replace(/0x[0-9a-f]{64}/g, shortHash).replace(/\/p2p\/\w+$/, '')
  return `${reason}${times}${about === '' ? '' : `, ${about}`}${more === undefined ? '' : `: ${more}`}`
}

function eventText(event: PeerEvent): string {
  const words = WORDS[`${event.kind} ${event.reason}`]
  return causeText({ ...event, reason: words ?? `${KINDS[event.kind] ?? event.kind}: ${event.reason}` })
}

const KINDS: Record<string, string> = {
  reject: 'message rejected',
  ignore: 'message ignored',
  behaviour: 'misbehaved',
}
const WORDS: Record<string, string> = {
  'connected inbound': 'it connected',
  'connected outbound': 'we connected',
  'disconnected by-us': 'we disconnected it',
  'disconnected by-peer': 'it disconnected',
  'graft by-us': 'we took it into the mesh',
  'graft by-peer': 'it came into the mesh',
  'graft refused': 'it wanted into the mesh and was refused',
  'prune by-us': 'we put it out of the mesh',
  'prune by-peer': 'it left the mesh',
  'response valid-block': 'it answered a request with a good block',
  'response failed': 'it failed to answer a request',
  'response false-block': 'it answered with a block that is none of the chain',
  'ban score': 'banned',
  'unban expired': 'the ban ran out',
  'unban lifted': 'the ban was lifted by the operator',
  'block operator': 'put on the block list',
  'unblock operator': 'taken off the block list',
}
