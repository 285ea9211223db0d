import type { PeerScoreReport } from './answers.ts'
import { el, svg } from './dom.ts'
import { countOf, score } from './format.ts'

/** One part of a score. */
export interface ScoreTermPart {
  label: string
  /** What is counted, and what each of it weighs. */
  detail: string
  value: number
}

/** The parts that count for or against a peer; together they are its total. */
export function termsOf(report: PeerScoreReport): ScoreTermPart[] {
  const parts: ScoreTermPart[] = []
  const add = (label: string, detail: string, value: number): void => {
    if (value !== 0) parts.push({ label, detail, value })
  }
  for (const part of report.topics.parts) {
    const of = (
      label: string,
      { value, weight, score: points }: { value: number; weight: number; score: number },
    ): void =>
      add(
        `${label} (blocks v${part.version})`,
        `${score(value)} × ${score(weight * part.topicWeight)}`,
        points * part.topicWeight,
      )
    of('Time in the mesh', part.timeInMesh)
    of('First to bring a block', part.firstDeliveries)
    of('Brought fewer blocks than asked', part.meshDeficit)
    of('Had a block and did not bring it', part.meshFailures)
    of('Invalid messages', part.invalidMessages)
  }
  const uncapped = report.topics.parts.reduce((sum, { score: points }) => sum + points, 0)
  if (report.topics.cap > 0 && uncapped > report.topics.cap) {
    add('Cap of all topics', `at most ${score(report.topics.cap)}`, report.topics.cap - uncapped)
  }
  const { validResponses, errorResponses, rejectedPayloads } = report.application
  add(
    'Requests answered well',
    `${score(validResponses.value)} × ${score(validResponses.weight)}`,
    validResponses.score,
  )
  add('Requests failed', `${score(errorResponses.value)} × ${score(errorResponses.weight)}`, errorResponses.score)
  add('False blocks', `${score(rejectedPayloads.value)} × ${score(rejectedPayloads.weight)}`, rejectedPayloads.score)
  for (const { ip, peers, score: points } of report.ipColocation.parts) {
    add(`Shares IP ${ip}`, countOf(peers.length, 'peer'), points)
  }
  const { penalties, threshold, score: points } = report.behaviour
  add('Misbehaviour', `${score(penalties)} points, ${threshold} are free`, points)
  return parts
}

const WIDTH = 600
const HEIGHT = 66

/** Parts side by side from zero on: what counts against the peer to the left, what counts for it to the right. */
export function scoreBar(report: PeerScoreReport): HTMLElement {
  const terms = termsOf(report)
  const sum = (sign: number): number =>
    terms.reduce((total, { value }) => (value * sign > 0 ? total + value : total), 0)
  const lowest = Math.min(...report.thresholds.map(({ value }) => value), 0)
  const min = Math.min(sum(-1), lowest) * 1.08 - 2
  const max = Math.max(sum(1) * 1.08, -min * 0.12, 5)
  const x = (value: number): number => 4 + ((WIDTH - 8) * (value - min)) / (max - min)
  const shapes: SVGElement[] = []
  let [left, right] = [0, 0]
  for (const [index, { value, label }] of terms.entries()) {
    const from = value < 0 ? left + value : right
    if (value < 0) left += value
    else right += value
    shapes.push(
      svg(
        'rect',
        {
          x: x(from),
          y: 26,
          width: Math.max(1.5, x(from + Math.abs(value)) - x(from) - 1),
          height: 20,
          rx: 2,
          class: `term-${value < 0 ? 'bad' : 'good'} shade-${index % 4}`,
        },
        svg('title', {}, `${label}: ${score(value)}`),
      ),
    )
  }
  let lastLabelAt = Number.POSITIVE_INFINITY
  for (const { name, value, below } of [...report.thresholds].sort((a, b) => b.value - a.value)) {
    const at = x(value)
    shapes.push(svg('line', { x1: at, x2: at, y1: 18, y2: 52, class: below ? 'limit below' : 'limit' }))
    if (lastLabelAt - at < 100) continue
    lastLabelAt = at
    shapes.push(
      svg(
        'text',
        { x: at, y: 14, 'text-anchor': at < 40 ? 'start' : 'middle', class: below ? 'limit-name below' : 'limit-name' },
        `${name} ${score(value)}`,
      ),
    )
  }
  const total = x(report.total)
  shapes.push(svg('path', { d: `M${total - 5} 62l5 -8l5 8z`, class: 'total' }))
  const text = `Score ${score(report.total)}: ${terms.map(({ label, value }) => `${label} ${score(value)}`).join(', ') || 'nothing counts for or against it'}`
  return el(
    'div',
    { class: 'score-bar' },
    svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': text }, ...shapes),
  )
}
