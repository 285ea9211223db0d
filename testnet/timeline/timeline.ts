import { z } from 'zod'

/** The content of `timeline.json`: the events of a testnet while scenarios ran. Times are unix milliseconds. */
export interface Timeline {
  fromMs: number
  toMs: number
  scenarios: ScenarioSpan[]
  /** Events of the runner, the oldest first. */
  marks: Mark[]
  /** Keyed by name. */
  nodes: Record<string, NodePast>
}

export interface ScenarioSpan {
  name: string
  about: string
  fromMs: number
  /** Absent if the scenario was interrupted. */
  toMs?: number
  passed: boolean
  why?: string
}

/** `fault`: a command. */
export interface Mark {
  atMs: number
  kind: 'fault' | 'step' | 'failure' | 'news'
  text: string
}

export interface NodePast {
  /** All columns have the same length. */
  samples: Record<SampleColumn, (number | null)[]> & { atMs: number[] }
  /** The node's scores of its peers, by peer name: time and score. */
  scores: Record<string, [atMs: number, score: number][]>
  events: HistoryEvent[]
}

export const SAMPLE_COLUMNS = ['unsafe', 'safe', 'finalized', 'peers', 'mesh', 'gas'] as const
export type SampleColumn = (typeof SAMPLE_COLUMNS)[number]

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
