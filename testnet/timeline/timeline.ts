import type { HistoryEvent } from './nodeHistory.ts'

/** What happened on a testnet while scenarios ran: `timeline.json`. Times are unix milliseconds. */
export interface Timeline {
  fromMs: number
  toMs: number
  scenarios: ScenarioSpan[]
  /** What the runner did and saw, the oldest first. */
  marks: Mark[]
  /** By name. */
  nodes: Record<string, NodePast>
}

export interface ScenarioSpan {
  name: string
  about: string
  fromMs: number
  /** Absent: it was cut short. */
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
  /** Of one length. */
  samples: Record<SampleColumn, (number | null)[]> & { atMs: number[] }
  /** What the node thought of its peers, by the peer's name: moment and score. */
  scores: Record<string, [atMs: number, score: number][]>
  events: HistoryEvent[]
}

export const SAMPLE_COLUMNS = ['unsafe', 'safe', 'finalized', 'peers', 'mesh', 'gas'] as const
export type SampleColumn = (typeof SAMPLE_COLUMNS)[number]
