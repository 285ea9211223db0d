import { formatNumber } from '../src/lib/formatNumber.ts'
import type { PeerScoreReport } from '../src/p2p/base/schemas.ts'
import { type ScoreRow, scoreRows } from '../src/p2p/base/scoreRows.ts'
import { el, svg } from './dom.ts'
import { labelRows } from './labelRows.ts'
import { limitsOf, limitText, type ScoreLimit } from './scoreReasons.ts'

const MARGIN = 4
const BAR_HEIGHT = 20
/** Length of a threshold's line above and below the bar. */
const OVERHANG = 6
const ROW_HEIGHT = 14
/** Share of the bar for negative parts. Positive parts have a scale of their own, because most are below 1. */
const LOSSES = 0.66
/** Width at 11 pixels, more than most letters have. */
const LETTER_WIDTH = 6.6

/**
 * Shows the parts of a score side by side from zero: negative parts to the left, positive parts to the right. Thresholds are
 * named above the bar. Crossed thresholds are marked in a legend below it. `width` is in pixels.
 */
export function scoreBar(report: PeerScoreReport, width: number): HTMLElement {
  const terms = scoreRows(report).filter(({ score }) => score !== 0)
  const limits = limitsOf(report)
  const x = scaleOf(terms, limits, width)
  const labels = limits
    .map((limit) => ({ limit, at: x(limit.value), length: limitText(limit).length * LETTER_WIDTH }))
    .reverse()
  const rows = labelRows(labels)
  const top = (Math.max(0, ...rows) + 1) * ROW_HEIGHT + OVERHANG
  const total = x(report.total)
  const triangle = top + BAR_HEIGHT + OVERHANG + 2
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${width} ${triangle + 10}`, role: 'img', 'aria-label': textOf(report, terms, limits) },
    ...termBars(terms, x, top),
    ...labels.flatMap(({ limit, at, length }, index) => limitMark(limit, at, length, rows[index] ?? 0, top)),
    svg(
      'path',
      { d: `M${total - 5} ${triangle + 8}l5 -8l5 8z`, class: 'total' },
      svg('title', {}, `total ${formatNumber(report.total)}`),
    ),
  )
  return el('div', { class: 'score-bar' }, picture, limitsRow(limits))
}

function scaleOf(terms: readonly ScoreRow[], limits: readonly ScoreLimit[], width: number): (value: number) => number {
  const sum = (sign: number): number =>
    terms.reduce((total, { score }) => (score * sign > 0 ? total + score : total), 0)
  const lowest = Math.min(...limits.map(({ value }) => value), 0)
  const min = Math.min(sum(-1), lowest) * 1.2 - 2
  const max = roundUp(sum(1))
  const zero = MARGIN + (width - 2 * MARGIN) * LOSSES
  return (value) => zero + (value < 0 ? (zero - MARGIN) * (value / -min) : (width - MARGIN - zero) * (value / max))
}

/** The end of the positive scale: 1, 2, 5, 10 and so on. */
function roundUp(gain: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(gain, 1)))
  return [1, 2, 5, 10].map((digit) => digit * power).find((end) => end >= gain) ?? gain
}

function termBars(terms: readonly ScoreRow[], x: (value: number) => number, top: number): SVGElement[] {
  let [left, right] = [0, 0]
  return terms.map(({ score: value, name: label }, index) => {
    const from = value < 0 ? left + value : right
    if (value < 0) left += value
    else right += value
    const length = x(from + Math.abs(value)) - x(from) - 1
    const name = `term ${value < 0 ? 'bad' : 'good'} shade-${index % 4}`
    return svg(
      'rect',
      { x: x(from), y: top, width: Math.max(1.5, length), height: BAR_HEIGHT, rx: 2, class: name },
      svg('title', {}, `${label}: ${formatNumber(value)}`),
    )
  })
}

/** The threshold's line, and its name, which ends at the line. */
function limitMark(limit: ScoreLimit, at: number, length: number, row: number, top: number): SVGElement[] {
  const below = limit.isCrossed ? ' below' : ''
  const baseline = top - OVERHANG - row * ROW_HEIGHT - 3
  const line = { x1: at, x2: at, y1: baseline - 9, y2: top + BAR_HEIGHT + OVERHANG }
  return [
    svg('line', { ...line, y1: top, y2: top + BAR_HEIGHT, class: 'limit-gap' }),
    svg(
      'line',
      { ...line, class: `limit${below}` },
      svg('title', {}, `${limitText(limit)}${limit.isCrossed ? ', crossed' : ''}`),
    ),
    svg(
      'text',
      { x: Math.max(length, at - 4), y: baseline, 'text-anchor': 'end', class: `limit-name${below}` },
      limitText(limit),
    ),
  ]
}

function limitsRow(limits: readonly ScoreLimit[]): HTMLElement | null {
  if (limits.length === 0) return null
  return el(
    'p',
    { class: 'limits' },
    'Thresholds: ',
    ...limits.flatMap((limit, index) => [
      index === 0 ? null : ' · ',
      limit.isCrossed
        ? el('strong', { class: 'below' }, `${limitText(limit)} (crossed)`)
        : el('span', {}, limitText(limit)),
    ]),
  )
}

function textOf(report: PeerScoreReport, terms: readonly ScoreRow[], limits: readonly ScoreLimit[]): string {
  const parts = terms.map(({ name: label, score: value }) => `${label} ${formatNumber(value)}`).join(', ')
  const names = limits.map((limit) => `${limitText(limit)}${limit.isCrossed ? ' (crossed)' : ''}`).join(' · ')
  return `Score ${formatNumber(report.total)}: ${parts || 'no score term applies'}. Thresholds: ${names || 'none'}`
}
