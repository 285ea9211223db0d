import { z } from 'zod'

const moment = z.number().describe('Unix milliseconds')
const column = z.array(z.number().nullable())

const event = z.object({
  atMs: moment,
  kind: z.enum(['start', 'fault', 'recovery', 'reorg', 'ban', 'unban', 'block', 'unblock', 'note']),
  text: z.string().describe('a sentence, or what follows the name of the subject'),
  subject: z.string().nullable().describe('a peer id, an IP or a subnet'),
})
export type HistoryEvent = z.output<typeof event>

/** devium_history: columns of one length; null where something was not known. */
export const history = z.object({
  sampleMs: z.number().describe('between two samples'),
  samples: z.object({
    atMs: z.array(z.number()),
    unsafe: column,
    safe: column,
    finalized: column,
    l1: column,
    peers: column.describe('connected'),
    mesh: column.describe('peers in the mesh'),
    gas: column.describe('mean gas used of the blocks since the sample before'),
  }),
  scores: z.object({
    atMs: z.array(z.number()),
    peers: z.record(z.string(), column).describe('by peer id'),
  }),
  events: z.array(event).describe('the oldest first'),
})
export type History = z.output<typeof history>
