import uPlot from 'uplot'
import { byId, el, setText } from './dom.ts'
import { ago, clockTime, count } from './format.ts'
import type { NodeState } from './nodeState.ts'
import { colour, onTheme } from './theme.ts'

const TILES = [
  { key: 'unsafe', label: 'Unsafe', title: 'The newest block, by gossip or made here' },
  { key: 'safe', label: 'Safe', title: 'Derived from what the batch submitter put on L1' },
  { key: 'finalized', label: 'Finalized', title: 'Derived from finalized L1 blocks' },
  { key: 'l1', label: 'L1 head', title: 'The newest L1 block that this node knows' },
] as const

let chart: uPlot | undefined

export function startHeads(): void {
  const list = byId('heads')
  for (const { key, label, title } of TILES) {
    list.append(
      el(
        'div',
        { class: `tile ${key}`, title },
        el('dt', {}, label),
        el(
          'dd',
          {},
          el('span', { class: 'figure', id: `head-${key}` }, '–'),
          el('span', { class: 'quiet', id: `age-${key}` }),
        ),
      ),
    )
  }
  onTheme(() => draw())
  new ResizeObserver(() => {
    const size = sizeOf()
    if (chart !== undefined && (chart.width !== size.width || chart.height !== size.height)) chart.setSize(size)
  }).observe(byId('chart'))
}

let drawnFor: NodeState | undefined
let drawnAtMs: number | undefined

export function showHeads(node: NodeState, nowMs: number): void {
  const { heads } = node
  const refs = { unsafe: heads?.unsafe_l2, safe: heads?.safe_l2, finalized: heads?.finalized_l2, l1: heads?.head_l1 }
  for (const { key } of TILES) {
    const ref = refs[key]
    const isKnown = ref !== undefined && !/^0x0*$/.test(ref.hash)
    setText(byId(`head-${key}`), isKnown ? count(ref.number) : '–')
    setText(byId(`age-${key}`), isKnown ? ago(nowMs, ref.timestamp * 1_000) : 'not known yet')
  }
  const newest = node.samples.last?.atMs
  if (drawnFor === node && drawnAtMs === newest) return
  drawnFor = node
  drawnAtMs = newest
  if (chart === undefined) draw()
  else chart.setData(dataOf(node))
}

/** How far safe and finalized are behind: the heads themselves would be three lines that lie on each other. */
function dataOf(node: NodeState | undefined): uPlot.AlignedData {
  const samples = node?.samples.values ?? []
  return [
    samples.map(({ atMs }) => atMs / 1_000),
    samples.map(({ unsafe, finalized }) => unsafe - finalized),
    samples.map(({ unsafe, safe }) => unsafe - safe),
  ]
}

/** The chart fills its card, but for the legend below it. */
function sizeOf(): { width: number; height: number } {
  const { clientWidth, clientHeight } = byId('chart')
  return { width: Math.max(200, clientWidth), height: Math.max(180, clientHeight - legendHeight(clientWidth)) }
}

/** In one line, or two. */
function legendHeight(width: number): number {
  return width < 440 ? 72 : 40
}

/** Where the cursor is, or the last. */
function atCursor(plot: uPlot, value: number | null, series: number): string {
  return String(value ?? plot.data[series]?.at(-1) ?? '–')
}

/** Anew, since a canvas does not follow the style sheet. */
function draw(): void {
  chart?.destroy()
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  }
  const tint = (name: string): { stroke: string; fill: string } => ({
    stroke: colour(name),
    fill: colour(`${name}-tint`),
  })
  chart = new uPlot(
    {
      ...sizeOf(),
      padding: [10, 8, 0, 0],
      cursor: { points: { size: 7 } },
      legend: { live: true },
      scales: { y: { range: (_plot, _min, max) => [0, Math.max(5, Math.ceil((max ?? 0) * 1.15))] } },
      axes: [
        // Whole seconds, also of the first two of a page.
        {
          ...axis,
          space: 90,
          values: '{HH}:{mm}:{ss}',
          incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600],
        },
        {
          ...axis,
          size: 48,
          space: 36,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 10_000, 100_000, 1_000_000],
        },
      ],
      series: [
        { label: 'Time', value: (_plot, seconds: number | null) => clockTime((seconds ?? Date.now() / 1_000) * 1_000) },
        { label: 'Blocks not final', value: atCursor, width: 1.5, points: { show: false }, ...tint('final') },
        { label: 'Blocks not safe', value: atCursor, width: 2, points: { show: false }, ...tint('safe') },
      ],
    },
    dataOf(drawnFor),
    byId('chart'),
  )
}
