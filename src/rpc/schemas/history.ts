import { z } from 'zod'

const moment = z.number().describe('Unix milliseconds')
const column = z.array(z.number().nullable())

const event = z.object({
  atMs: moment,
  kind: z.enum(['start', 'fault', 'recovery', 'reorg', 'ban', 'unban', 'block', 'unblock', 'note']),
  text: z.string().describe('a sentence, or the text that follows the name of the subject'),
  subject: z.string().nullable().describe('a peer id, an IP or a subnet'),
})
export type HistoryEvent = z.output<typeof event>

/** The result of devium_history: columns of equal length. Unknown values are null. */
export const history = z.object({
  sampleMs: z.number().describe('time between two samples'),
  samples: z.object({
    atMs: z.array(z.number()),
    unsafe: column,
    safe: column,
    finalized: column,
    l1: column,
    peers: column.describe('connected peers'),
    mesh: column.describe('peers in the mesh'),
    gas: column.describe('mean gas used by the blocks since the last sample'),
  }),
  scores: z.object({
    atMs: z.array(z.number()),
    peers: z.record(z.string(), column).describe('by peer id'),
  }),
  events: z.array(event).describe('oldest first'),
})
export type History = z.output<typeof history>
