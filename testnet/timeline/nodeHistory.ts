import { z } from 'zod'

const column = z.array(z.number().nullable())
const moments = z.array(z.number())

/** The part of `devium_history` that a timeline uses. */
export const nodeHistory = z.object({
  samples: z.object({
    ...{ atMs: moments, unsafe: column, safe: column, finalized: column },
    ...{ peers: column, mesh: column, gas: column },
  }),
  scores: z.object({ atMs: moments, peers: z.record(z.string(), column) }),
  events: z.array(z.object({ atMs: z.number(), kind: z.string(), text: z.string(), subject: z.string().nullable() })),
})

export type HistoryEvent = z.output<typeof nodeHistory>['events'][number]
