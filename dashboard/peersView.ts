import { byId, el, setText, svg } from './dom.ts'
import { count, countOf, duration, score, shortPeer } from './format.ts'
import type { NodeState, Peer } from './nodeState.ts'
import { nodeNameOf, type Page } from './page.ts'

/** Rows that are made; a filter finds the others. */
const MAX_ROWS = 250

interface Row {
  peer: Peer
  name: string
  agent: string
  direction: string
  latencyMs: number | undefined
  isInMesh: boolean
  flags: string[]
}

interface Column {
  key: string
  label: string
  title?: string
  isNumber?: true
  /** What it is sorted by. */
  by: (row: Row) => string | number
}

const COLUMNS: readonly Column[] = [
  { key: 'name', label: 'Name', by: ({ name }) => name },
  { key: 'agent', label: 'Agent', title: 'What the peer says that it runs', by: ({ agent }) => agent },
  { key: 'direction', label: 'Direction', by: ({ direction }) => direction },
  { key: 'latency', label: 'Latency', isNumber: true, by: ({ latencyMs }) => latencyMs ?? Number.POSITIVE_INFINITY },
  { key: 'mesh', label: 'Mesh', by: ({ isInMesh }) => (isInMesh ? 0 : 1) },
  { key: 'score', label: 'Score', isNumber: true, by: ({ peer }) => peer.score ?? 0 },
  { key: 'standing', label: 'Standing', by: ({ flags }) => flags.join() || '~' },
]

let sortKey = 'score'
let isDescending = false
const rows = new Map<string, HTMLTableRowElement>()
let rowsOf: NodeState | undefined
let body: HTMLTableSectionElement

export function startPeers(page: Page): void {
  const heads = COLUMNS.map(({ key, label, title, isNumber }) =>
    el(
      'th',
      { 'data-column': key, 'aria-sort': 'none', class: isNumber ? 'number' : undefined },
      el(
        'button',
        {
          ...{ type: 'button', class: 'sort', title },
          onclick: () => {
            isDescending = sortKey === key ? !isDescending : false
            sortKey = key
            showPeers(page)
          },
        },
        label,
      ),
    ),
  )
  body = el('tbody')
  byId('peers').append(
    el(
      'table',
      { class: 'peers' },
      el('caption', { class: 'hidden-text' }, 'Peers of the node'),
      el('thead', {}, el('tr', {}, ...heads)),
      body,
    ),
    el('p', { class: 'empty', id: 'peers-empty' }),
  )
  byId('peer-filter').addEventListener('input', () => showPeers(page))
  byId('peer-kind').addEventListener('change', () => showPeers(page))
}

export function showPeers(page: Page): void {
  const { node } = page
  if (rowsOf !== node) {
    rows.clear()
    body.replaceChildren()
    rowsOf = node
  }
  const all = [...node.peers.values()].map((peer) => toRow(page, peer))
  const shown = sorted(all.filter(isWanted)).slice(0, MAX_ROWS)
  const wanted = new Set(shown.map(({ peer }) => peer.id))
  for (const [id, row] of rows) {
    if (wanted.has(id)) continue
    row.remove()
    rows.delete(id)
  }
  for (const row of shown) fill(page, row)
  // Moving a row takes the focus from what is in it: done only where the order is another.
  const order = shown.flatMap(({ peer }) => rows.get(peer.id) ?? [])
  if (order.some((row, index) => body.children[index] !== row)) {
    const focused = document.activeElement
    body.append(...order)
    if (focused instanceof HTMLElement && body.contains(focused)) focused.focus()
  }
  for (const head of document.querySelectorAll<HTMLElement>('.peers th')) {
    const isSorted = head.dataset.column === sortKey
    head.setAttribute('aria-sort', isSorted ? (isDescending ? 'descending' : 'ascending') : 'none')
  }
  setText(byId('peers-title'), all.length === 0 ? 'Peers' : `Peers (${count(all.length)})`)
  setText(byId('peers-empty'), emptyText(node, all.length, shown.length))
  byId('peers-empty').hidden = shown.length > 0 && all.length <= MAX_ROWS
}

function emptyText(node: NodeState, all: number, shown: number): string {
  if (shown > 0) return `The first ${shown} of ${countOf(all, 'peer')}. Search to find others.`
  if (all > 0) return 'No peer is like that.'
  if (node.health !== undefined && node.health.gossip === null)
    return 'The peer-to-peer network of this node is switched off.'
  return node.connectionState === 'open'
    ? 'No peer is connected, banned or blocked.'
    : 'Not known: the node does not answer.'
}

function toRow(page: Page, peer: Peer): Row {
  const { record, report, ban, blocked } = peer
  const flags: string[] = []
  if (blocked) flags.push('blocked')
  if (ban !== undefined) flags.push(`banned, ${duration(Math.max(0, ban.untilMs - Date.now()))} left`)
  if (report?.static) flags.push('static')
  if (report?.protected && !report.static) flags.push('protected')
  return {
    peer,
    name: nodeNameOf(page, peer.id) ?? shortPeer(peer.id),
    agent: record?.userAgent ?? '',
    direction:
      record?.connectedness !== 1 || !peer.connected
        ? 'not connected'
        : record.direction === 1
          ? 'inbound'
          : 'outbound',
    latencyMs: record === undefined || record.latency === 0 ? undefined : record.latency / 1e6,
    isInMesh: report?.topics.parts.some(({ inMesh }) => inMesh) ?? false,
    flags,
  }
}

function isWanted({ peer, name, agent, isInMesh }: Row): boolean {
  const text = (byId('peer-filter') as HTMLInputElement).value.trim().toLowerCase()
  if (
    text !== '' &&
    ![name, agent, peer.id, ...(peer.record?.addresses ?? [])].some((field) => field.toLowerCase().includes(text))
  ) {
    return false
  }
  switch ((byId('peer-kind') as HTMLSelectElement).value) {
    case 'connected':
      return peer.connected
    case 'mesh':
      return isInMesh
    case 'bad':
      return (peer.score ?? 0) < 0
    case 'refused':
      return peer.ban !== undefined || peer.blocked
    default:
      return true
  }
}

function sorted(list: Row[]): Row[] {
  const by = COLUMNS.find(({ key }) => key === sortKey)?.by ?? (() => 0)
  const sign = isDescending ? -1 : 1
  return list.sort((a, b) => {
    const [left, right] = [by(a), by(b)]
    const order =
      typeof left === 'number' && typeof right === 'number' ? left - right : String(left).localeCompare(String(right))
    return sign * order || a.peer.id.localeCompare(b.peer.id)
  })
}

function fill(page: Page, row: Row): void {
  const { peer, name, agent, direction, latencyMs, isInMesh, flags } = row
  let found = rows.get(peer.id)
  if (found === undefined) {
    found = el(
      'tr',
      {},
      ...COLUMNS.map(({ key, isNumber }) => el('td', { 'data-column': key, class: isNumber ? 'number' : undefined })),
    )
    found.cells[0]?.append(
      el('button', { type: 'button', class: 'link', title: peer.id, onclick: () => page.openPeer(peer.id) }),
    )
    found.cells[5]?.append(
      svg('svg', { viewBox: '0 0 64 18', class: 'spark', 'aria-hidden': 'true' }, svg('polyline')),
      el('span', { class: 'figure' }),
    )
    rows.set(peer.id, found)
  }
  const total = peer.score ?? 0
  found.dataset.tone = flags.some((flag) => /^b(anned|locked)/.test(flag)) ? 'bad' : total < 0 ? 'warned' : 'good'
  const cell = (index: number, text: string): void => {
    const target = found.cells[index]
    if (target !== undefined) setText(target, text)
  }
  const button = found.querySelector('button')
  if (button !== null) setText(button, name)
  cell(1, agent === '' ? '–' : agent)
  found.cells[1]?.setAttribute('title', agent)
  cell(2, direction)
  cell(3, latencyMs === undefined ? '–' : duration(latencyMs))
  cell(4, isInMesh ? 'in the mesh' : '–')
  const figure = found.querySelector('.figure')
  if (figure !== null) setText(figure, peer.score === undefined ? '–' : score(total))
  found.querySelector('polyline')?.setAttribute('points', curve(page.node.curve(peer.id)))
  const standing = flags.length === 0 ? (direction === 'not connected' ? '–' : 'connected') : flags.join(', ')
  cell(6, standing)
}

/** Its own scale, with zero always on it. */
function curve(values: readonly number[]): string {
  if (values.length < 2) return ''
  const min = Math.min(0, ...values)
  const span = Math.max(0.001, Math.max(0, ...values) - min)
  return values
    .map(
      (value, index) =>
        `${((index * 62) / (values.length - 1) + 1).toFixed(1)},${(16 - ((value - min) * 14) / span).toFixed(1)}`,
    )
    .join(' ')
}
