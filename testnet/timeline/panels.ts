import type { NodePast, Timeline } from './timeline.ts'

export interface Line {
  label: string
  points: [atMs: number, value: number][]
}

export interface Panel {
  title: string
  lines: Line[]
  min: number
  max: number
}

/** The scale's lower end. A ban comes at -100, and much lower values would flatten the other lines. */
const LEAST_SCORE = -120
/** A line has a gap if a node took no sample for this time. */
export const GAP_MS = 6_000

/** The charts of the timeline, from top to bottom. */
export function panelsOf({ nodes }: Pick<Timeline, 'nodes'>): Panel[] {
  const pasts = Object.entries(nodes)
  const heads = pasts.map(([, { samples }]) => pointsOf(samples.atMs, samples.unsafe))
  const newest = (atMs: number) => Math.max(...heads.map((points) => valueAt(points, atMs) ?? 0))
  const behind = (column: 'unsafe' | 'safe') => (past: NodePast) =>
    pointsOf(past.samples.atMs, past.samples[column]).map(([atMs, value]): [number, number] => {
      return [atMs, Math.max(0, Math.round(newest(atMs) - value))]
    })
  const panel = (title: string, pointsFor: (past: NodePast) => Line['points'], least = 0, most = 2): Panel => {
    const lines = pasts.map(([label, past]) => ({ label, points: pointsFor(past) }))
    const values = lines.flatMap(({ points }) => points.map(([, value]) => value))
    return { title, lines, min: Math.floor(Math.min(least, ...values)), max: Math.ceil(Math.max(most, ...values)) }
  }
  return [
    panel('Blocks behind the newest', behind('unsafe'), 0, 4),
    panel('Blocks not safe', behind('safe'), 0, 8),
    panel('Peers', ({ samples }) => pointsOf(samples.atMs, samples.peers)),
    panel('Lowest score of a peer', lowestScores, -4, 1),
  ]
}

function pointsOf(atMs: readonly number[], values: readonly (number | null)[]): Line['points'] {
  return atMs.flatMap((ms, index): Line['points'] => {
    const value = values[index] ?? null
    return value === null ? [] : [[ms, value]]
  })
}

/** Interpolates between two samples, as if blocks came evenly. Undefined after the last sample. */
function valueAt(points: Line['points'], atMs: number): number | undefined {
  const next = points.findIndex(([ms]) => ms >= atMs)
  const [after, before] = [points[next], points[next - 1]]
  if (after === undefined || before === undefined) return after?.[1]
  return before[1] + ((after[1] - before[1]) * (atMs - before[0])) / (after[0] - before[0])
}

function lowestScores({ scores }: NodePast): Line['points'] {
  const lowest = new Map<number, number>()
  for (const [atMs, score] of Object.values(scores).flat()) {
    lowest.set(atMs, Math.max(LEAST_SCORE, Math.min(score, lowest.get(atMs) ?? score)))
  }
  return [...lowest].sort(([one], [other]) => one - other)
}
