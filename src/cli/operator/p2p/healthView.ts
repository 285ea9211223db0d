import { z } from 'zod'
import { shortHash } from '../../../lib/shortIds.ts'
import { formatTable, type LineWidth, peerFor, plainText, wrapText } from '../../shared/table.ts'
import { formatSeconds } from '../../shared/units.ts'

const blockSchema = z.object({ number: z.number(), hash: z.string(), atMs: z.number() })
const healthSchema = z.object({
  state: z.string(),
  ok: z.boolean(),
  sinceMs: z.number(),
  text: z.string(),
  topic: z.string(),
  connected: z.number(),
  subscribers: z.number(),
  mesh: z.number(),
  staticPeers: z.array(
    z.object({
      peerID: z.string(),
      connected: z.boolean(),
      sinceMs: z.number(),
      failure: z.object({ text: z.string(), atMs: z.number() }).nullable(),
    }),
  ),
  lastBlock: blockSchema.extend({ peerID: z.string() }).nullable(),
  lastRefused: z
    .object({
      reason: z.string(),
      detail: z.string().nullable(),
      number: z.number().nullable(),
      hash: z.string().nullable(),
      peerID: z.string(),
      atMs: z.number(),
    })
    .nullable(),
  recent: z.object({
    seconds: z.number(),
    accepted: z.number(),
    refused: z.record(z.string(), z.number()),
    headMoves: z.record(z.string(), z.number()),
  }),
  head: blockSchema.nullable(),
  lastMoves: z.record(z.string(), blockSchema.nullable()),
})

/** Formats deviump2p_health. */
export function formatHealth(answer: unknown, nowMs = Date.now(), width?: LineWidth): string {
  const health = healthSchema.parse(answer)
  const since = (atMs: number) => formatSeconds(Math.max(0, Math.round((nowMs - atMs) / 1000)))
  const ago = (atMs: number) => `${since(atMs)} ago`
  const { lastBlock, lastRefused, recent } = health
  const refused = Object.entries(recent.refused).map(([reason, count]) => `${reason} ${count}`)
  const ways = Object.entries(health.lastMoves).flatMap(([source, move]) =>
    move === null
      ? []
      : [[source, String(recent.headMoves[source] ?? 0), String(move.number), shortHash(move.hash), ago(move.atMs)]],
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
