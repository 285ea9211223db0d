import { formatNumber } from '../src/lib/formatNumber.ts'
import { byId, el, putInOrder, setText, svg } from './dom.ts'
import { count, countOf, duration } from './format.ts'
import type { NodeState } from './nodeState.ts'
import { nodeNameOf, type Page } from './page.ts'
import { PEER_ORDERS, type PeerRow, sortPeers, toPeerRow } from './peerRow.ts'
import type { Place } from './place.ts'

/** Maximum number of rows. A filter finds the other peers. */
const MAX_ROWS = 250
/**
 * Rows keep their order for this time although scores change, so that readers do not lose a row. Rows out of view also keep their
 * texts: with hundreds of peers, their layout took most of the page's memory.
 */
const SORT_MS = 5_000
/** Distance from the view at which a row is drawn. */
const MARGIN = '300px'

/** Number of scores in the small curve: ten minutes. */
const CURVE = 60
/** Text of an empty cell. A narrow page hides the cell. */
const NOTHING = '–'

let sortKey = 'score'
let isDescending = false
const rows = new Map<string, DrawnRow>()
let rowsOf: NodeState | undefined
let body: HTMLTableSectionElement
/** The sort control of a narrow page, in place of the table's head. */
let orders: HTMLSelectElement
let sortedAtMs = 0
/** Observes which rows are visible. */
let watcher: IntersectionObserver

interface DrawnRow {
  element: HTMLTableRowElement
  /** The wanted and the drawn content. */
  wanted: PeerRow
  shown: string
  shownAtMs: number
  isSeen: boolean
}

export function startPeers(page: Page): void {
  const heads = PEER_ORDERS.map(({ key, label, title, isNumber }) =>
    el(
      'th',
      { 'data-column': key, 'aria-sort': 'none', class: isNumber ? 'number' : undefined },
      el(
        'button',
        {
          ...{ type: 'button', class: 'sort', title },
          onclick: () => sortBy(page, key, sortKey === key && !isDescending),
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
  const onFilter = () => {
    sortedAtMs = 0
    const [search, show] = [filterInput().value.trim(), kindSelect().value]
    page.choosePeers({ search, show: show === 'all' ? undefined : show })
  }
  byId('peer-filter').addEventListener('input', onFilter)
  byId('peer-kind').addEventListener('change', onFilter)
  orders = byId('peer-order') as HTMLSelectElement
  for (const { key, label, ways } of PEER_ORDERS) {
    orders.append(...ways.map((way, index) => new Option(`${label}, ${way}`, `${key} ${index}`)))
  }
  orders.addEventListener('change', () => {
    const [key = '', way] = orders.value.split(' ')
    sortBy(page, key, way === '1')
  })
  watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const row = rows.get((target as HTMLElement).dataset.peer ?? '')
        if (row === undefined) continue
        row.isSeen = isIntersecting
        draw(page, row)
      }
    },
    { rootMargin: MARGIN },
  )
}

const filterInput = () => byId('peer-filter') as HTMLInputElement
const kindSelect = () => byId('peer-kind') as HTMLSelectElement

/** Applies the filter of the page's address. */
export function filterPeers({ search = '', show = 'all' }: Place): void {
  if (filterInput().value.trim() !== search) filterInput().value = search
  kindSelect().value = show
  // The address may have an unknown value.
  if (kindSelect().selectedIndex < 0) kindSelect().value = 'all'
  sortedAtMs = 0
}

function sortBy(page: Page, key: string, descending: boolean): void {
  sortKey = key
  isDescending = descending
  sortedAtMs = 0
  showPeers(page)
}

export function showPeers(page: Page): void {
  const { node } = page
  if (rowsOf !== node) {
    for (const { element } of rows.values()) remove(element)
    rows.clear()
    rowsOf = node
    sortedAtMs = 0
  }
  const now = Date.now()
  const all = [...node.peers.values()].map((peer) => toPeerRow(peer, nodeNameOf(page, peer.peerID), now))
  const shown = inPlace(all.filter(isWanted)).slice(0, MAX_ROWS)
  const wanted = new Set(shown.map(({ peer }) => peer.peerID))
  for (const [id, row] of rows) {
    if (wanted.has(id)) continue
    remove(row.element)
    rows.delete(id)
  }
  for (const row of shown) draw(page, rowFor(page, row))
  const focused = document.activeElement
  putInOrder(
    body,
    shown.flatMap(({ peer }) => rows.get(peer.peerID)?.element ?? []),
  )
  if (focused instanceof HTMLElement && focused !== document.activeElement && body.contains(focused)) focused.focus()
  for (const head of document.querySelectorAll<HTMLElement>('.peers th')) {
    const isSorted = head.dataset.column === sortKey
    head.setAttribute('aria-sort', isSorted ? (isDescending ? 'descending' : 'ascending') : 'none')
  }
  orders.value = `${sortKey} ${isDescending ? 1 : 0}`
  setText(byId('peers-title'), all.length === 0 ? 'Peers' : `Peers (${count(all.length)})`)
  setText(byId('peers-empty'), emptyText(node, all.length, shown.length))
  byId('peers-empty').hidden = shown.length > 0 && all.length <= MAX_ROWS
}

function emptyText(node: NodeState, all: number, shown: number): string {
  if (shown > 0) return `The first ${shown} of ${countOf(all, 'peer')}. Search to find others.`
  if (all > 0) return 'No peer matches.'
  if (node.health !== undefined && node.health.gossip === null) return 'This node runs without peers (--p2p.disable).'
  return node.connectionState === 'open'
    ? 'No peer is connected, banned, blocked or static.'
    : 'The node does not answer.'
}

function isWanted({ peer, name, agent }: PeerRow): boolean {
  const text = filterInput().value.trim().toLowerCase()
  if (
    text !== '' &&
    ![name, agent, peer.peerID, ...(peer.facts?.addresses ?? [])].some((field) => field.toLowerCase().includes(text))
  ) {
    return false
  }
  switch (kindSelect().value) {
    case 'connected':
      return peer.connected
    case 'mesh':
      return peer.inMesh
    case 'bad':
      return peer.score < 0
    case 'refused':
      return peer.ban !== null || peer.blocked
    default:
      return true
  }
}

/** Sorts the list, or keeps the present order for a while, with new rows at the end. */
function inPlace(list: PeerRow[]): PeerRow[] {
  const now = performance.now()
  if (sortedAtMs === 0 || now - sortedAtMs >= SORT_MS) {
    sortedAtMs = now
    return sortPeers(list, sortKey, isDescending)
  }
  const places = new Map([...rows.keys()].map((id, index) => [id, index]))
  const placeOf = ({ peer }: PeerRow) => places.get(peer.peerID) ?? rows.size
  return sortPeers(list, sortKey, isDescending).sort((a, b) => placeOf(a) - placeOf(b))
}

/** A new row at the end of the list. The list's order is read from the rows. */
function rowFor(page: Page, wanted: PeerRow): DrawnRow {
  const { peerID } = wanted.peer
  let row = rows.get(peerID)
  if (row === undefined) {
    row = { element: makeRow(page, peerID), wanted, shown: '', shownAtMs: 0, isSeen: false }
    watcher.observe(row.element)
  }
  row.wanted = wanted
  rows.delete(peerID)
  rows.set(peerID, row)
  return row
}

function remove(element: Element): void {
  watcher.unobserve(element)
  element.remove()
}

/** Redraws a row if it has changed, and is visible or important. */
function draw(page: Page, row: DrawnRow): void {
  const { element, wanted } = row
  const { peer, name, agent, direction, latencyMs, flags, tone } = wanted
  const texts = [
    name,
    agent === '' ? NOTHING : agent,
    direction,
    latencyMs === undefined ? NOTHING : duration(latencyMs),
    peer.inMesh ? 'in the mesh' : NOTHING,
    formatNumber(peer.score),
    flags.length === 0 ? (peer.connected ? 'connected' : NOTHING) : flags.join(', '),
  ]
  const { scores } = page.node.past
  const shown = [...texts, tone, scores.atMs.at(-1)].join('\n')
  const now = performance.now()
  const mayWait = !row.isSeen && element.dataset.tone === tone && now - row.shownAtMs < SORT_MS
  if (row.shown === shown || mayWait) return
  row.shown = shown
  row.shownAtMs = now
  element.dataset.tone = tone
  for (const [index, cell] of [...element.cells].entries()) {
    const text = texts[index] ?? NOTHING
    setText(cell.querySelector('button, .figure') ?? cell, text)
    cell.classList.toggle('nothing', text === NOTHING)
  }
  element.cells[1]?.setAttribute('title', agent)
  element.querySelector('polyline')?.setAttribute('points', curve(scores.tail(peer.peerID, CURVE)))
}

function makeRow(page: Page, peerId: string): HTMLTableRowElement {
  const cells = PEER_ORDERS.map(({ key, isNumber }) =>
    el('td', { 'data-column': key, class: isNumber ? 'number' : undefined }),
  )
  const [nameCell, , , , , scoreCell] = cells
  nameCell?.append(el('button', { type: 'button', class: 'link', title: peerId, onclick: () => page.openPeer(peerId) }))
  scoreCell?.append(
    svg('svg', { viewBox: '0 0 64 18', class: 'spark', 'aria-hidden': 'true' }, svg('polyline')),
    el('span', { class: 'figure' }),
  )
  return el('tr', { 'data-peer': peerId }, ...cells)
}

/** Each curve has its own scale, which always includes zero. */
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
