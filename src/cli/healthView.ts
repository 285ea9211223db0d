import { z } from 'zod'
import { formatTable, plainText, shortHash } from './table.ts'

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

/** deviump2p_health in one line, for those that are not well; undefined: nothing to say. */
export function healthNote(answer: unknown): string | undefined {
  if (answer === undefined) return undefined
  const { ok, state, text } = healthSchema.pick({ ok: true, state: true, text: true }).parse(answer)
  return ok ? undefined : plainText(`gossip: ${state}: ${text}`)
}

/** deviump2p_health for people. */
export function formatHealth(answer: unknown, nowMs = Date.now()): string {
  const health = healthSchema.parse(answer)
  const ago = (atMs: number) => `${duration(nowMs - atMs)} ago`
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
          ? 'none by gossip'
          : `${lastBlock.number} ${shortHash(lastBlock.hash)} from ${lastBlock.peerID}, ${ago(lastBlock.atMs)}`,
      ],
      [
        'last refused',
        lastRefused === null
          ? 'none'
          : [
              lastRefused.reason,
              ...(lastRefused.detail === null ? [] : [`(${lastRefused.detail})`]),
              ...(lastRefused.number === null ? [] : [`block ${lastRefused.number}`]),
              `from ${lastRefused.peerID}, ${ago(lastRefused.atMs)}`,
            ].join(' '),
      ],
      [minutes, `${recent.accepted} blocks accepted, refused: ${refused.join(', ') || 'none'}`],
      ['unsafe head', health.head === null ? 'not known yet' : `${health.head.number}, ${ago(health.head.atMs)}`],
    ],
  ).trim()
  const statics = health.staticPeers.map(({ peerID, connected, sinceMs, failure }) => [
    peerID,
    `${connected ? 'connected' : 'down'} for ${duration(nowMs - sinceMs)}`,
    failure === null ? '' : `${failure.text}, ${ago(failure.atMs)}`,
  ])
  return [
    `gossip: ${plainText(health.state)}, for ${duration(nowMs - health.sinceMs)}\n${plainText(health.text)}`,
    facts,
    ...(ways.length === 0 ? [] : [formatTable(['head moved by', minutes, 'number', 'hash', 'time'], ways)]),
    ...(statics.length === 0 ? [] : [formatTable(['static peer', 'state', 'last failure'], statics)]),
  ].join('\n\n')
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}
