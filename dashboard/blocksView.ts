import { shortHash } from '../src/lib/shortIds.ts'
import type { BlockTimes } from './answers.ts'
import { copyButton } from './copyButton.ts'
import { byId, type Child, el, svg } from './dom.ts'
import { clockTime, duration } from './format.ts'
import { type Page, peerName } from './page.ts'
import { showRows, table } from './parts.ts'

const SHOWN = 14
const COLUMNS = [
  ['block', 'Block'],
  ['signed', 'Signed'],
  ['came', 'Received'],
  ['executed', 'Executed'],
  ['safe', 'Safe'],
] as const
/** Limits of the strip's logarithmic scale: gossip takes milliseconds, safety takes seconds to minutes. */
const MIN_MS = 1
const MAX_MS = 120_000
const TICKS = [
  [1, '1 ms'],
  [10, '10 ms'],
  [100, '100 ms'],
  [1_000, '1 s'],
  [10_000, '10 s'],
  [60_000, '1 min'],
] as const

/** Shows the times of the last blocks: signed, received by gossip, executed, safe. */
export function showBlocks(page: Page): void {
  const place = byId('blocks')
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.block : undefined
  const rows = page.node.blocks.slice(0, SHOWN).map((block) => {
    const row = toRow(page, block)
    return { key: JSON.stringify(row), make: () => rowOf(page, row) }
  })
  showRows(place, rows, {
    ifEmpty: 'The node has received no block since its start. Blocks appear here with their times.',
    makeTable: emptyTable,
  })
  if (focused !== undefined && document.activeElement === document.body) {
    place.querySelector<HTMLElement>(`[data-block="${CSS.escape(focused)}"]`)?.focus()
  }
}

function emptyTable(): HTMLElement {
  const heads = COLUMNS.map(([column, text]) => el('th', { 'data-column': column, class: column }, text))
  return table({ class: 'blocks', caption: 'The last blocks, newest first' }, [
    ...heads,
    el('th', { class: 'strip-head' }, axis()),
  ])
}

interface Row {
  block: BlockTimes
  beganAtMs: number | undefined
  /** Known if a node of this page signed it. */
  signedAtMs: number | undefined
  from: string
  isChosen: boolean
}

function toRow(page: Page, block: BlockTimes): Row {
  const { came, hash } = block
  const signed = page.nodes.flatMap((node) => node.blocks.find((other) => other.hash === hash)?.signedAtMs ?? [])
  const from =
    came === null
      ? block.executedBy === 'derivation'
        ? 'from L1'
        : 'built by this node'
      : `from ${peerName(page, came.from)}`
  return {
    block,
    beganAtMs: beganAtMs(page, block),
    signedAtMs: signed[0],
    from: came?.way === 'request' ? `${from}, requested` : from,
    isChosen: hash === page.block,
  }
}

/** The signing time if a node of this page built the block; otherwise the first time this node had it. */
export function beganAtMs(page: Page, { hash, came, executedAtMs, signedAtMs }: BlockTimes): number | undefined {
  for (const node of page.nodes) {
    const signed = node.blocks.find((block) => block.hash === hash)?.signedAtMs
    if (signed != null) return signed
  }
  const known = [signedAtMs, came?.atMs, executedAtMs].filter((atMs) => atMs != null)
  return known.length === 0 ? undefined : Math.min(...known)
}

function rowOf(page: Page, { block, beganAtMs: began, signedAtMs, from, isChosen }: Row): HTMLElement {
  const after = (atMs: number | null | undefined): string =>
    atMs == null || began === undefined ? '–' : `+${duration(Math.max(0, atMs - began))}`
  const { came } = block
  const cell = (column: string, label: string, ...content: Child[]): HTMLElement =>
    el('td', { 'data-column': column }, el('span', { class: `narrow ${column}` }, `${label} `), ...content)
  return el(
    'tr',
    { class: isChosen ? 'chosen' : undefined },
    el(
      'td',
      { 'data-column': 'block' },
      el(
        'button',
        {
          ...{
            type: 'button',
            class: 'link',
            'aria-pressed': String(isChosen),
            'data-block': block.hash,
            title: block.hash,
          },
          onclick: () => page.chooseBlock(isChosen ? undefined : block.hash),
        },
        String(block.number),
      ),
      el('span', { class: 'quiet hash' }, ` ${shortHash(block.hash)}`),
      copyButton(block.hash, `the hash of block ${block.number}`),
    ),
    cell('signed', 'signed', signedAtMs === undefined ? '–' : clockTime(signedAtMs)),
    el(
      'td',
      { 'data-column': 'came' },
      el('span', { class: came === null ? 'narrow nothing' : 'narrow came' }),
      came === null ? null : `${after(came.atMs)} `,
      el('span', { class: 'quiet' }, from),
    ),
    cell('executed', 'executed', after(block.executedAtMs)),
    cell('safe', 'safe', block.safeAtMs === null ? el('span', { class: 'quiet' }, 'not yet') : after(block.safeAtMs)),
    el('td', { class: 'strip' }, began === undefined ? null : strip(block, began)),
  )
}

const WIDTH = 400
const HEIGHT = 18

function place(ms: number): number {
  const within = Math.min(MAX_MS, Math.max(MIN_MS, ms))
  return 6 + ((WIDTH - 12) * Math.log(within / MIN_MS)) / Math.log(MAX_MS / MIN_MS)
}

function axis(): SVGElement {
  return svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true', class: 'strip-axis' },
    ...TICKS.map(([ms, label]) =>
      svg('text', { x: place(ms), y: 13, 'text-anchor': ms === 1 ? 'start' : 'middle' }, label),
    ),
  )
}

function strip(block: BlockTimes, began: number): SVGElement {
  const came = block.came === null ? undefined : block.came.atMs - began
  const executed = block.executedAtMs === null ? undefined : block.executedAtMs - began
  const safe = block.safeAtMs === null ? undefined : block.safeAtMs - began
  const middle = HEIGHT / 2
  const parts: SVGElement[] = TICKS.map(([ms]) =>
    svg('line', { x1: place(ms), x2: place(ms), y1: 0, y2: HEIGHT, class: 'strip-tick' }),
  )
  const bar = (from: number, to: number, name: string): void => {
    const x = place(from)
    parts.push(svg('rect', { x, y: middle - 3.5, width: Math.max(1, place(to) - x), height: 7, rx: 2, class: name }))
  }
  if (came !== undefined) bar(0, came, 'came')
  if (executed !== undefined) bar(came ?? 0, executed, 'executed')
  if (safe !== undefined && executed !== undefined) bar(executed, safe, 'safe')
  const dot = (at: number | undefined, name: string): void => {
    if (at !== undefined) parts.push(svg('circle', { cx: place(at), cy: middle, r: 4.5, class: name }))
  }
  dot(came, 'came')
  dot(executed, 'executed')
  dot(safe, 'safe')
  return svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' }, ...parts)
}
