import { shortPeer } from '../src/lib/shortIds.ts'
import { duration } from './format.ts'
import { directionOf, latencyMsOf, type Peer } from './peer.ts'

export interface PeerRow {
  peer: Peer
  name: string
  agent: string
  direction: string
  latencyMs: number | undefined
  /** Its special properties, and the reason for an unwanted disconnection. */
  flags: string[]
  tone: 'good' | 'warned' | 'bad'
}

/** `nodeName` is set if the peer is a node of this page. */
export function toPeerRow(peer: Peer, nodeName: string | undefined, nowMs: number): PeerRow {
  const { peerID, facts, ban, away } = peer
  const flags: string[] = []
  if (peer.blocked) flags.push('blocked')
  if (ban !== null) flags.push(`banned, ${duration(Math.max(0, ban.untilMs - nowMs))} left`)
  if (peer.static) flags.push(away === undefined ? 'static' : `static, ${away}`)
  if (peer.protected && !peer.static) flags.push('protected')
  const isRefused = peer.blocked || ban !== null
  return {
    peer,
    name: nodeName ?? shortPeer(peerID),
    agent: facts?.userAgent ?? '',
    direction: directionOf(peer),
    latencyMs: latencyMsOf(peer),
    flags,
    tone: isRefused ? 'bad' : peer.score < 0 || away !== undefined ? 'warned' : 'good',
  }
}

/** A sort order of peers, with labels for both directions. */
export interface PeerOrder {
  key: string
  label: string
  title?: string
  isNumber?: true
  ways: readonly [ascending: string, descending: string]
  by: (row: PeerRow) => string | number
}

/** The columns of the table. */
export const PEER_ORDERS: readonly PeerOrder[] = [
  { key: 'name', label: 'Name', ways: ['A to Z', 'Z to A'], by: ({ name }) => name },
  {
    key: 'agent',
    label: 'Agent',
    title: 'Program name that the peer announces',
    ways: ['A to Z', 'Z to A'],
    by: ({ agent }) => agent,
  },
  {
    key: 'direction',
    label: 'Direction',
    ways: ['inbound first', 'outbound first'],
    by: ({ direction }) => direction,
  },
  {
    key: 'latency',
    label: 'Latency',
    isNumber: true,
    ways: ['shortest first', 'longest first'],
    by: ({ latencyMs }) => latencyMs ?? Number.POSITIVE_INFINITY,
  },
  { key: 'mesh', label: 'Mesh', ways: ['members first', 'members last'], by: ({ peer }) => (peer.inMesh ? 0 : 1) },
  {
    key: 'score',
    label: 'Score',
    isNumber: true,
    ways: ['lowest first', 'highest first'],
    by: ({ peer }) => peer.score,
  },
  {
    key: 'standing',
    label: 'State',
    ways: ['refused first', 'refused last'],
    by: ({ flags }) => flags.join() || '~',
  },
]

/** Sorts in place. Throws RangeError for an unknown order. */
export function sortPeers(list: PeerRow[], key: string, isDescending: boolean): PeerRow[] {
  const by = PEER_ORDERS.find((order) => order.key === key)?.by
  if (by === undefined) throw new RangeError(`peers have no order ${key}`)
  const sign = isDescending ? -1 : 1
  return list.sort((a, b) => {
    const [left, right] = [by(a), by(b)]
    const order =
      typeof left === 'number' && typeof right === 'number'
        ? Math.sign(left === right ? 0 : left - right)
        : String(left).localeCompare(String(right))
    return sign * order || a.peer.peerID.localeCompare(b.peer.peerID)
  })
}
