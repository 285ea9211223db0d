import { shortHash } from '../../../lib/shortIds.ts'
import { gossipHealth } from '../../../rpc/schemas/peers.ts'
import { formatTable, type LineWidth, peerFor, plainText, wrapText } from '../../shared/table.ts'
import { formatSeconds } from '../../shared/units.ts'

/** Formats deviump2p_health. */
export function formatHealth(answer: unknown, nowMs = Date.now(), width?: LineWidth): string {
  const health = gossipHealth.parse(answer)
  const since = (atMs: number) => formatSeconds(Math.max(0, Math.round((nowMs - atMs) / 1000)))
  const ago = (atMs: number) => `${since(atMs)} ago`
  const { lastBlock, lastRefused, recent } = health
  const refused = Object.entries(recent.refused).map(([reason, count]) => `${reason} ${count}`)
  const headMoves: Readonly<Record<string, number>> = recent.headMoves
  const ways = Object.entries(health.lastMoves).flatMap(([source, move]) =>
    move === null
      ? []
      : [[source, String(headMoves[source] ?? 0), String(move.number), shortHash(move.hash), ago(move.atMs)]],
  )
  const minutes = `last ${Math.round(recent.seconds / 60)} min`
  const facts = formatTable(
    ['', ''],
    [
      ['topic', health.topic],
      ['peers', `${health.connected} connected, ${health.subscribers} on the topic, ${health.mesh} in the mesh`],
      [
        'last block',
        lastBlock === null
          ? 'none received by gossip'
          : `${lastBlock.number} ${shortHash(lastBlock.hash)} from ${peerFor(lastBlock.peerID, width)}, ${ago(lastBlock.atMs)}`,
      ],
      [
        'last refused',
        lastRefused === null
          ? 'none'
          : [
              lastRefused.reason,
              ...(lastRefused.detail === null ? [] : [`(${lastRefused.detail})`]),
              ...(lastRefused.number === null ? [] : [`block ${lastRefused.number}`]),
              `from ${peerFor(lastRefused.peerID, width)}, ${ago(lastRefused.atMs)}`,
            ].join(' '),
      ],
      [minutes, `${recent.accepted} blocks accepted, refused: ${refused.join(', ') || 'none'}`],
      ['unsafe head', health.head === null ? 'unknown' : `${health.head.number}, ${ago(health.head.atMs)}`],
    ],
    width,
  ).trim()
  const statics = health.staticPeers.map(({ peerID, connected, sinceMs, failure }) => [
    peerFor(peerID, width),
    `${connected ? 'connected' : 'disconnected'} for ${since(sinceMs)}`,
    failure === null ? '' : `${failure.text}, ${ago(failure.atMs)}`,
  ])
  return [
    `gossip: ${plainText(health.state)}, for ${since(health.sinceMs)}\n${wrapText(plainText(health.text), width, 0)}`,
    facts,
    ...(ways.length === 0 ? [] : [formatTable(['head advanced by', minutes, 'number', 'hash', 'time'], ways, width)]),
    ...(statics.length === 0 ? [] : [formatTable(['static peer', 'state', 'last failure'], statics, width)]),
  ].join('\n\n')
}
