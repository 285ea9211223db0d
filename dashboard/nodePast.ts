import type { History, HistoryEvent } from './answers.ts'

const KEPT_MS = 3_600_000
const KEPT_EVENTS = 200

type Column = readonly (number | null)[]

/** The last hour of a node as it has told it; what a restart makes the node forget stays here while the page is open. */
export class NodePast {
  readonly samples = new Columns()
  /** A column for each peer. */
  readonly scores = new Columns()
  events: readonly HistoryEvent[] = []
  /** Another after each answer that had something new. */
  version = 0

  /** Of the newest that is known; 0 before the first answer. */
  get lastMs(): number {
    return Math.max(this.samples.atMs.at(-1) ?? 0, this.events.at(-1)?.atMs ?? 0)
  }

  /** What the node has told when it was asked for what is newer than `sinceMs`. */
  add(sinceMs: number, { samples: { atMs, ...samples }, scores, events }: History): void {
    // Another answer may have come first.
    if (sinceMs !== this.lastMs) return
    this.samples.add(atMs, samples)
    this.scores.add(scores.atMs, scores.peers)
    this.events = [...this.events, ...events].slice(-KEPT_EVENTS)
    this.version++
  }
}

/** Numbers by time, for an hour. */
export class Columns {
  atMs: readonly number[] = []
  private columns = new Map<string, Column>()

  get names(): string[] {
    return [...this.columns.keys()]
  }

  /** As long as `atMs`. */
  column(name: string): Column {
    return this.columns.get(name) ?? nothing(this.atMs.length)
  }

  /** The last numbers of a column that are known. */
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
