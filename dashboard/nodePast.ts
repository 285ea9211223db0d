import type { History, HistoryEvent } from './answers.ts'

const KEPT_MS = 3_600_000
const KEPT_EVENTS = 200

type Column = readonly (number | null)[]

/** The last hour of a node's history. The page keeps it across the node's restarts. */
export class NodePast {
  readonly samples = new Columns()
  /** One column for each peer. */
  readonly scores = new Columns()
  events: readonly HistoryEvent[] = []
  /** Increases with each response that has new data. */
  version = 0

  /** Time of the newest data; 0 before the first response. */
  get lastMs(): number {
    return Math.max(this.samples.atMs.at(-1) ?? 0, this.events.at(-1)?.atMs ?? 0)
  }

  /** Adds the response to a request for data newer than `sinceMs`. */
  add(sinceMs: number, { samples: { atMs, ...samples }, scores, events }: History): void {
    // Another response may have arrived first.
    if (sinceMs !== this.lastMs) return
    this.samples.add(atMs, samples)
    this.scores.add(scores.atMs, scores.peers)
    this.events = [...this.events, ...events].slice(-KEPT_EVENTS)
    this.version++
  }
}

/** Numbers by time, for one hour. */
export class Columns {
  atMs: readonly number[] = []
  private columns = new Map<string, Column>()

  get names(): string[] {
    return [...this.columns.keys()]
  }

  /** The same length as `atMs`. */
  column(name: string): Column {
    return this.columns.get(name) ?? nothing(this.atMs.length)
  }

  /** The last known numbers of a column. */
  tail(name: string, length: number): number[] {
    return this.column(name)
      .slice(-length)
      .filter((value) => value !== null)
  }

  add(atMs: readonly number[], columns: Readonly<Record<string, Column>>): void {
    const oldestMs = (atMs.at(-1) ?? 0) - KEPT_MS
    const kept = this.atMs.findIndex((ms) => ms > oldestMs)
    const from = kept < 0 ? this.atMs.length : kept
    const names = new Set([...this.columns.keys(), ...Object.keys(columns)])
    const joined = [...names].map((name): [string, Column] => {
      return [name, [...this.column(name).slice(from), ...(columns[name] ?? nothing(atMs.length))]]
    })
    this.columns = new Map(joined.filter(([, column]) => column.some((value) => value !== null)))
    this.atMs = [...this.atMs.slice(from), ...atMs]
  }
}

function nothing(length: number): Column {
  return new Array<null>(length).fill(null)
}
