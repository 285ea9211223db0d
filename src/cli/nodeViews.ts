import { z } from 'zod'
import { shortHash } from '../lib/shortIds.ts'
import { batcherNote } from './batcherView.ts'
import { derivationNote } from './deriveView.ts'
import { healthNote } from './healthView.ts'
import { bansNote } from './peersView.ts'
import { formatTable } from './table.ts'

// A remote answer is checked before it is shown: another program may listen at that address.
const refSchema = z.object({ hash: z.string(), number: z.number(), timestamp: z.number() })
const statusSchema = z.object({
  current_l1: refSchema,
  head_l1: refSchema,
  safe_l1: refSchema,
  finalized_l1: refSchema,
  unsafe_l2: refSchema,
  safe_l2: refSchema,
  finalized_l2: refSchema,
  pending_safe_l2: refSchema,
  queued_unsafe_l2: refSchema,
})
const peerStatsSchema = z.object({ connected: z.number(), known: z.number(), banned: z.number() })

/** What a node answers for `devium status`; `stats`, `bans` and `health` are undefined when it runs without peers. */
export interface StatusAnswers {
  status: unknown
  version: string
  stats: unknown
  health: unknown
  bans?: unknown
  /** Undefined from a node that does not tell. */
  derivation?: unknown
  /** Null where the node knows of none. */
  batcher?: unknown
}

/** devium_syncStatus for people, with what is to be said of peers. */
export function formatStatus(answers: StatusAnswers, nowSeconds = Math.floor(Date.now() / 1000)): string {
  const { version, stats } = answers
  const status = statusSchema.parse(answers.status)
  const row = (name: string, ref: z.infer<typeof refSchema>) => {
    const empty = /^0x0*$/.test(ref.hash)
    return [
      name,
      empty ? '-' : String(ref.number),
      empty ? 'not seen yet' : shortHash(ref.hash),
      empty ? '' : `${nowSeconds - ref.timestamp} s ago`,
    ]
  }
  const table = formatTable(
    ['head', 'number', 'hash', 'time'],
    [
      row('L2 unsafe', status.unsafe_l2),
      row('L2 pending safe', status.pending_safe_l2),
      row('L2 safe', status.safe_l2),
      row('L2 finalized', status.finalized_l2),
      row('L1 head', status.head_l1),
      row('L1 derived to', status.current_l1),
      row('L1 safe', status.safe_l1),
      row('L1 finalized', status.finalized_l1),
    ],
  )
  const notes = [`devium ${version}`]
  if (stats === undefined) notes.push('peers: p2p is disabled')
  else {
    const { connected, known, banned } = peerStatsSchema.parse(stats)
    notes.push(`peers: ${connected} connected, ${known} known, ${banned} blocked or banned`)
  }
  const banned = bansNote(answers.bans)
  if (banned !== undefined) notes.push(banned)
  const trouble = healthNote(answers.health)
  if (trouble !== undefined) notes.push(trouble)
  const standstill = derivationNote(answers.derivation)
  if (standstill !== undefined) notes.push(standstill)
  const backlog = batcherNote(answers.batcher)
  if (backlog !== undefined) notes.push(backlog)
  if (!/^0x0*$/.test(status.queued_unsafe_l2.hash))
    notes.push(`waiting in the queue from L2 block ${status.queued_unsafe_l2.number} on`)
  return `${notes.join('\n')}\n\n${table}`
}
