import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DeviumError } from '../../src/lib/errors.ts'
import { GAP_MS, type Line, type Panel, panelsOf } from './panels.ts'
import type { Mark, Timeline } from './timeline.ts'

/** Lines of more nodes cannot be told apart by colour. */
const MAX_COLOURS = 8
/** Degrees between the hues of nodes. It keeps the colours of neighbours distinct. */
const HUE_STEP = 137
/** Marks closer than this, in percent of the axis, are stacked. */
const MARK_WIDTH = 6

/** Renders one page without a script, so that CI servers that block scripts also show it. */
export function timelinePage(timeline: Timeline): string {
  const { scenarios, marks, nodes, fromMs, toMs } = timeline
  const failed = scenarios.filter(({ passed }) => !passed)
  const title = scenarios.map(({ name }) => name).join(', ')
  const faults = marks.filter(({ kind }) => kind === 'fault' || kind === 'failure')
  const place = (atMs: number) => Math.round((Math.max(0, atMs - fromMs) / (toMs - fromMs)) * 10_000) / 100
  const names = Object.keys(nodes)
  const toneOf = (name: string) => toneOfNode(names.indexOf(name), names.length)
  const spans = scenarios.map(
    ({ name, fromMs: from, toMs: to = toMs, passed }) =>
      `<span class="span ${passed ? 'good' : 'bad'}" style="left:${place(from)}%;width:${place(to) - place(from)}%" title="${text(name)}">${text(name)}</span>`,
  )
  const happened = [
    ...marks.map((mark) => ({ ...mark, who: '', number: faults.indexOf(mark) + 1 })),
    ...Object.entries(nodes).flatMap(([who, { events }]) =>
      events.map(({ atMs, kind, text: eventText, subject }) => ({
        ...{ atMs, who, number: 0, kind: toneOfEvent(kind) },
        text: subject === null ? eventText : `${subject} ${eventText}.`,
      })),
    ),
  ].sort((one, other) => one.atMs - other.atMs)
  const dots = happened.filter(({ who, atMs }) => who !== '' && atMs >= fromMs)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>
${readFileSync(baseStyle(), 'utf8')}
${readFileSync(new URL('timeline.css', import.meta.url), 'utf8')}
</style>
</head>
<body>
<main>
<header>
<h1>${text(title)}</h1>
<p class="verdict ${failed.length === 0 ? 'good' : 'bad'}">${failed.length === 0 ? 'Passed' : `Failed: ${text(failed.map(({ name }) => name).join(', '))}`}</p>
<p class="quiet">${names.length} nodes, ${seconds(toMs - fromMs)} s, ${new Date(fromMs).toISOString().slice(0, 19).replace('T', ' ')} UTC</p>
</header>
<ul class="scenarios">
${scenarios.map(({ name, about, passed, why }) => `<li><b class="${passed ? 'good' : 'bad'}">${passed ? '✓' : '✕'} ${text(name)}</b> ${text(about)}${why === undefined ? '' : `<p class="why">${text(why)}</p>`}</li>`).join('\n')}
</ul>
<section class="card" aria-label="Timeline">
<ul class="legend">${names.length > MAX_COLOURS ? `<li><i style="--tone:var(--quiet)"></i>${names.length - 1} verifiers</li>` : ''}${names
    .slice(0, names.length > MAX_COLOURS ? 1 : undefined)
    .map((name) => `<li><i style="--tone:${toneOf(name)}"></i>${text(name)}</li>`)
    .join('')}<li><b class="number-mark fault">1</b>command, as numbered below</li></ul>
<div class="chart">
<div class="lines">${faults.map(({ atMs, kind }) => `<i class="${kind}" style="left:${place(atMs)}%"></i>`).join('')}</div>
<div class="lane">${spans.join('')}</div>
${numberedLane(faults, place)}
${dots.length === 0 ? '' : `<div class="lane dots">${dots.map(({ atMs, kind, who, text: eventText }) => `<i class="${kind}" style="left:${place(atMs)}%" title="${text(`${who}: ${eventText}`)}"></i>`).join('')}</div>`}
${panelsOf(timeline)
  .map((panel) => panelHtml(panel, { place, toneOf }))
  .join('\n')}
<div class="axis">${ticks(toMs - fromMs)
    .map((ms) => `<span style="left:${place(fromMs + ms)}%">${seconds(ms)} s</span>`)
    .join('')}</div>
</div>
</section>
<section class="card">
<h2>What happened</h2>
<ol class="events">
${happened
  .filter(({ atMs }) => atMs >= fromMs)
  .map(
    ({ atMs, kind, number, who, text: eventText }) =>
      `<li><time>${seconds(atMs - fromMs).toFixed(1)} s</time><b class="number-mark ${kind}">${number || ''}</b><span>${who === '' || startsWith(eventText, who) ? '' : `<em>${text(who)}</em> `}${text(eventText)}</span></li>`,
  )
  .join('\n')}
</ol>
</section>
</main>
</body>
</html>
`
}

function panelHtml(
  { title, lines, min, max }: Panel,
  { place, toneOf }: { place: (atMs: number) => number; toneOf: (name: string) => string },
): string {
  const height = (value: number) => Math.round((1 - (value - min) / (max - min)) * 1_000) / 10
  const path = ({ points }: Line): string =>
    points
      .map(([atMs, value], index) => {
        const isNew = index === 0 || atMs - (points[index - 1]?.[0] ?? 0) > 3 * GAP_MS
        return `${isNew ? 'M' : 'L'}${place(atMs)} ${height(value)}`
      })
      .join('')
  const drawn = lines
    .toReversed()
    .map(
      (line) =>
        `<path d="${path(line)}" style="stroke:${toneOf(line.label)}"><title>${text(line.label)}</title></path>`,
    )
  const labels = [...new Set([max, min < 0 ? 0 : Math.round(max / 2), min])]
  return `<figure class="panel">
<figcaption>${title}</figcaption>
<div class="plot">
${labels.map((value) => `<span style="top:${height(value)}%">${value}</span>`).join('')}
<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="${title}">${drawn.join('')}</svg>
</div>
</figure>`
}

function numberedLane(faults: readonly Mark[], place: (atMs: number) => number): string {
  const rows: number[] = []
  const marks = faults.map(({ atMs, kind, text: eventText }, index) => {
    const left = place(atMs)
    const free = rows.findIndex((end) => end <= left)
    const row = free < 0 ? rows.length : free
    rows[row] = left + MARK_WIDTH
    return `<b class="number-mark ${kind}" style="left:${left}%;top:${row * 22}px" title="${text(eventText)}">${index + 1}</b>`
  })
  return `<div class="lane" style="height:${Math.max(1, rows.length) * 22 + 4}px">${marks.join('')}</div>`
}

/** Chooses between four and ten ticks for the axis. */
function ticks(spanMs: number): number[] {
  const step = [5, 10, 15, 30, 60, 120, 300, 600, 1_800].find((size) => spanMs / (size * 1_000) <= 8) ?? 3_600
  return Array.from({ length: Math.floor(spanMs / (step * 1_000)) + 1 }, (_, index) => index * step * 1_000)
}

function toneOfNode(index: number, count: number): string {
  if (index === 0) return 'var(--accent)'
  if (count > MAX_COLOURS) return 'color-mix(in srgb, var(--quiet) 45%, transparent)'
  const hue = (220 + index * HUE_STEP) % 360
  return `light-dark(hsl(${hue} 65% 38%), hsl(${hue} 70% 68%))`
}

function toneOfEvent(kind: string): string {
  if (kind === 'fault' || kind === 'ban' || kind === 'block') return 'bad'
  if (kind === 'reorg') return 'warned'
  return kind === 'start' ? 'quiet' : 'good'
}

function startsWith(sentence: string, name: string): boolean {
  return sentence.slice(0, name.length).toLowerCase() === name
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}

function text(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** The style of a node's page, for the same colours. */
function baseStyle(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, 'dashboard', 'base.css')
    if (existsSync(found)) return found
    if (folder === dirname(folder)) throw new DeviumError('page-missing', 'the files of the dashboard are not there')
  }
}
