import type { HistoryEvent } from './answers.ts'
import type { NodePast } from './nodePast.ts'

export const CHARTS = [
  { key: 'behind', label: 'Blocks behind' },
  { key: 'peers', label: 'Peers' },
  { key: 'scores', label: 'Scores' },
  { key: 'gas', label: 'Gas' },
] as const
export type ChartKey = (typeof CHARTS)[number]['key']

export const SPANS = [
  { ms: 300_000, label: '5 min' },
  { ms: 3_600_000, label: '1 h' },
] as const

export interface Series {
  label: string
  /** A colour name of the style sheet, or an index among the lines of peers. */
  tone: string | number
  values: (number | null)[]
}

export interface ChartData {
  seconds: number[]
  series: Series[]
}

/** Maximum number of peer lines: those with the lowest scores. More lines would be unreadable. */
const MAX_LINES = 8
/** A line has a gap if the node took no sample for this time. */
const GAP_MS = 15_000

export function chartData(past: NodePast, key: ChartKey, spanMs: number, nameOf: (peer: string) => string): ChartData {
  const { samples, scores } = past
  const isScores = key === 'scores'
  const { atMs } = isScores ? scores : samples
  const from = atMs.findIndex((ms) => ms > (atMs.at(-1) ?? 0) - spanMs)
  const within = <T>(values: readonly T[]): T[] => values.slice(Math.max(0, from))
  const of = (name: string) => within(samples.column(name))
  const less = (head: string) => {
    const heads = of(head)
    return of('unsafe').map((unsafe, index) => {
      const other = heads[index] ?? null
      return unsafe === null || other === null ? null : unsafe - other
    })
  }
  const series: Record<ChartKey, () => Series[]> = {
    behind: () => [
      { label: 'Blocks not finalized', tone: 'final', values: less('finalized') },
      { label: 'Blocks not safe', tone: 'safe', values: less('safe') },
    ],
    peers: () => [
      { label: 'Connected', tone: 'final', values: of('peers') },
      { label: 'In the mesh', tone: 'good', values: of('mesh') },
    ],
    scores: () =>
      lowest(past).map((peer, tone) => ({ label: nameOf(peer), tone, values: within(scores.column(peer)) })),
    gas: () => [{ label: 'Gas per block', tone: 'execution', values: of('gas') }],
  }
  return withGaps(within(atMs), series[key](), isScores ? 3 * GAP_MS : GAP_MS)
}

function lowest({ scores }: NodePast): string[] {
  const last = (peer: string) => scores.tail(peer, Number.POSITIVE_INFINITY).at(-1) ?? 0
  return scores.names.sort((a, b) => last(a) - last(b)).slice(0, MAX_LINES)
}

function withGaps(atMs: readonly number[], series: Series[], gapMs: number): ChartData {
  const gaps = atMs.flatMap((ms, index) => (ms - (atMs[index - 1] ?? ms) > gapMs ? [index] : []))
  const insert = <T>(values: readonly T[], make: (index: number) => T): T[] =>
    values.flatMap((value, index) => (gaps.includes(index) ? [make(index), value] : [value]))
  return {
    seconds: insert(atMs, (index) => (atMs[index - 1] ?? 0) + gapMs).map((ms) => ms / 1_000),
    series: series.map((one) => ({ ...one, values: insert(one.values, () => null) })),
  }
}

/** The events within the chart's time span, the oldest first. */
export function eventsWithin(past: NodePast, spanMs: number): HistoryEvent[] {
  const fromMs = (past.samples.atMs.at(-1) ?? 0) - spanMs
  return past.events.filter(({ atMs }) => atMs > fromMs)
}

/** The legend of the marks, by colour. */
export const MARKS = {
  bad: 'Fault, ban, peer blocked',
  warned: 'Reorg, testnet command',
  good: 'Recovery, end of a ban, peer unblocked',
  quiet: 'Node start',
}

/** The colour of a mark in the chart. */
export function eventTone({ kind }: Pick<HistoryEvent, 'kind'>): keyof typeof MARKS {
  if (kind === 'fault' || kind === 'ban' || kind === 'block') return 'bad'
  if (kind === 'reorg' || kind === 'note') return 'warned'
  return kind === 'start' ? 'quiet' : 'good'
}

/** A sentence that starts with the subject of the event. */
export function eventText({ text, subject }: HistoryEvent, nameOf: (subject: string) => string): string {
  return subject === null ? text : `${nameOf(subject)} ${text}.`
}
