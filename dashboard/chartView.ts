import uPlot from 'uplot'
import { formatNumber } from '../src/lib/formatNumber.ts'
import {
  CHARTS,
  type ChartData,
  type ChartKey,
  chartData,
  eventsWithin,
  eventText,
  eventTone,
  MARKS,
  SPANS,
} from './chartData.ts'
import { byId, el, type Keyed, replaceChildrenByKey, replaceIfChanged } from './dom.ts'
import { clockTime, count } from './format.ts'
import { type Page, peerName, withNames } from './page.ts'
import { colour, onTheme } from './theme.ts'

/** Number of latest events below the chart. */
const SHOWN_EVENTS = 6
/** Degrees between the hues of peers. It keeps the colours of neighbours distinct. */
const HUE_STEP = 137

let chart: uPlot | undefined
let chosen: ChartKey = 'behind'
let spanMs: number = SPANS[0].ms
let data: ChartData = { seconds: [], series: [] }
let marks: { seconds: number; tone: string }[] = []
let drawnFor = ''

export function startChart(page: Page): void {
  const choice = (label: string, isOn: boolean, choose: () => void): HTMLElement => {
    const button = el('button', { type: 'button', class: 'choice', 'aria-pressed': String(isOn) }, label)
    button.addEventListener('click', () => {
      choose()
      for (const other of button.parentElement?.children ?? []) {
        other.setAttribute('aria-pressed', String(other === button))
      }
      showChart(page)
    })
    return button
  }
  byId('chart-kinds').append(...CHARTS.map(({ key, label }) => choice(label, chosen === key, () => (chosen = key))))
  byId('chart-spans').append(...SPANS.map(({ ms, label }) => choice(label, spanMs === ms, () => (spanMs = ms))))
  onTheme(() => {
    drawnFor = ''
    showChart(page)
  })
  new ResizeObserver(() => {
    const size = sizeOf()
    if (chart !== undefined && (chart.width !== size.width || chart.height !== size.height)) chart.setSize(size)
  }).observe(byId('chart'))
}

export function showChart(page: Page): void {
  const { past, name } = page.node
  const nameOf = (subject: string) => peerName(page, subject)
  const key = `${name} ${past.version} ${chosen} ${spanMs}`
  if (drawnFor === key) return
  drawnFor = key
  const before = labelsOf(data)
  data = chartData(past, chosen, spanMs, nameOf)
  const events = eventsWithin(past, spanMs)
  marks = events.map((event) => ({ seconds: event.atMs / 1_000, tone: colour(eventTone(event)) }))
  if (chart === undefined || labelsOf(data) !== before || drawnTheme !== document.documentElement.dataset.theme) draw()
  else chart.setData(aligned())
  const tones = new Set(events.map(eventTone))
  replaceIfChanged(byId('marks'), [...tones].join(), () =>
    Object.entries(MARKS).flatMap(([tone, label]) =>
      [...tones].some((shown) => shown === tone)
        ? [el('li', {}, el('span', { class: `event-mark ${tone}` }), label)]
        : [],
    ),
  )
  replaceChildrenByKey(
    byId('events'),
    events
      .slice(-SHOWN_EVENTS)
      .reverse()
      .map((event): Keyed => {
        const text = withNames(page, eventText(event, nameOf))
        const when = el('time', { class: 'quiet' }, clockTime(event.atMs))
        const mark = el('span', { class: `event-mark ${eventTone(event)}` })
        return { key: `${event.atMs} ${text}`, make: () => el('li', {}, mark, when, el('span', {}, text)) }
      }),
  )
}

let drawnTheme: string | undefined

function labelsOf({ series }: ChartData): string {
  return series.map(({ label }) => label).join('\n')
}

function aligned(): uPlot.AlignedData {
  return [data.seconds, ...data.series.map(({ values }) => values)]
}

/** The chart fills its card, except for the legend below it. */
function sizeOf(): { width: number; height: number } {
  const { clientWidth, clientHeight } = byId('chart')
  return { width: Math.max(200, clientWidth), height: Math.max(180, clientHeight - legendHeight(clientWidth)) }
}

/** Height of the legend, in one or more lines. */
function legendHeight(width: number): number {
  return 40 + 24 * Math.floor((data.series.length * (width < 440 ? 230 : 160)) / width)
}

/** The value at the cursor, or the last value. */
function atCursor(plot: uPlot, value: number | null, series: number): string {
  const shown = value ?? plot.data[series]?.at(-1)
  return shown === null || shown === undefined ? '–' : chosen === 'scores' ? formatNumber(shown) : count(shown)
}

/** Draws a vertical line for each event. */
function drawMarks({ ctx, bbox, valToPos }: uPlot): void {
  ctx.save()
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { seconds, tone } of marks) {
    const x = Math.round(valToPos(seconds, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.strokeStyle = tone
    ctx.fillStyle = tone
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.beginPath()
    ctx.arc(x, bbox.top, 4 * devicePixelRatio, 0, 2 * Math.PI)
    ctx.fill()
  }
  ctx.restore()
}

/** The range of the axis. Counts start at zero, and scores may have both signs. */
function rangeOf(_plot: uPlot, min: number | null, max: number | null): [number, number] {
  const [low, high] = [min ?? 0, max ?? 0]
  if (chosen !== 'scores') return [0, Math.max(5, Math.ceil(high * 1.15))]
  const room = Math.max(0.5, (Math.max(high, 0) - Math.min(low, 0)) * 0.1)
  return [low < 0 ? low - room : 0, Math.max(high, 0) + room]
}

/** Redraws everything, because a canvas does not follow the style sheet. */
function draw(): void {
  drawnTheme = document.documentElement.dataset.theme
  chart?.destroy()
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  }
  const tint = (tone: string | number) =>
    typeof tone === 'number'
      ? { stroke: `hsl(${(210 + tone * HUE_STEP) % 360} 60% 52%)` }
      : {
          stroke: colour(tone),
          ...(data.series.length === 2 && chosen === 'behind' ? { fill: colour(`${tone}-tint`) } : {}),
        }
  chart = new uPlot(
    {
      ...sizeOf(),
      padding: [10, 8, 0, 0],
      cursor: { points: { size: 7 } },
      legend: { live: true },
      scales: { y: { range: rangeOf } },
      hooks: { draw: [drawMarks] },
      axes: [
        // Whole seconds, also for the first two samples of a page.
        {
          ...axis,
          space: 90,
          values: '{HH}:{mm}:{ss}',
          incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600],
        },
        {
          ...axis,
          size: chosen === 'gas' ? 84 : 48,
          space: 36,
          ...(chosen === 'scores'
            ? { values: (_plot: uPlot, values: number[]) => values.map(formatNumber) }
            : {
                incrs: [1, 2, 5]
                  .flatMap((digit) => Array.from({ length: 9 }, (_, power) => digit * 10 ** power))
                  .sort((a, b) => a - b),
              }),
        },
      ],
      series: [
        { label: 'Time', value: (_plot, seconds: number | null) => clockTime((seconds ?? Date.now() / 1_000) * 1_000) },
        ...data.series.map(({ label, tone }) => ({
          ...{ label, value: atCursor, width: 2, points: { show: false }, ...tint(tone) },
        })),
      ],
    },
    aligned(),
    byId('chart'),
  )
}
