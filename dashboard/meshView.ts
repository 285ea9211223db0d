import { shortPeer } from '../src/lib/shortIds.ts'
import { beganAtMs } from './blocksView.ts'
import { byId, el, type Keyed, replaceChildrenByKey, replaceIfChanged, svg } from './dom.ts'
import { clockTime, duration } from './format.ts'
import { meshLayout, type Point } from './meshLayout.ts'
import type { NodeState } from './nodeState.ts'
import { nodeNameOf, type Page, peerName } from './page.ts'
import { button, emptyText } from './parts.ts'
import { statusOf } from './statusSentence.ts'

const SIZE = 340
const MIDDLE = SIZE / 2
/** Maximum number of peers in the picture. More would be unreadable. */
const MAX_PEERS = 60
/** Most refused peers without a connection. A hostile peer may have returned with many identities; the list of bans shows all. */
const MAX_REFUSED = 3
/** With more circles, names would overlap. */
const MAX_NAMES = 14
/** In radians: space for the end of a peer's id. */
const NAMES_APART = Math.PI / 8
const NODE_RADIUS = 13
/** Half the width of a wide letter of a name. */
const HALF_LETTER = 4.2

interface Vertex {
  id: string
  x: number
  y: number
  radius: number
  name: string
  tone: string
  node: NodeState | undefined
}

interface Edge {
  a: string
  b: string
  isMesh: boolean
}

/** Shows the connections and gossip mesh links of all nodes of the page. */
export function showMesh(page: Page): void {
  const edges = edgesOf(page)
  const vertices = verticesOf(page, edges)
  const isAlone = vertices.length < 2
  replaceIfChanged(byId('mesh'), isAlone ? 'alone' : 'connected', () =>
    isAlone
      ? [emptyText('No peer is connected, so this node receives no blocks by gossip.')]
      : [emptyGraph(), legend(), el('div', { id: 'mesh-way' })],
  )
  if (isAlone) return
  const way = wayOf(page)
  const graph = document.querySelector('svg.mesh')
  if (graph !== null) replaceChildrenByKey(graph, shapesOf(page, vertices, edges, way))
  replaceIfChanged(byId('mesh-way'), JSON.stringify([way, page.block]), () => wayText(page, way))
}

function emptyGraph(): SVGElement {
  const name = 'Nodes and their peers'
  return svg('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, class: 'mesh', role: 'group', 'aria-label': name })
}

function edgesOf({ nodes }: Page): Edge[] {
  const edges = new Map<string, Edge>()
  for (const node of nodes) {
    if (node.peerId === undefined || node.connectionState !== 'open') continue
    for (const peer of node.peers.values()) {
      if (!peer.connected) continue
      const [a, b] = [node.peerId, peer.peerID].sort() as [string, string]
      const known = edges.get(`${a} ${b}`)
      edges.set(`${a} ${b}`, { a, b, isMesh: peer.inMesh || known?.isMesh === true })
    }
  }
  return [...edges.values()]
}

function verticesOf(page: Page, edges: readonly Edge[]): Vertex[] {
  const nodes = page.nodes.filter(({ peerId }) => peerId !== undefined)
  const nodeIds = nodes.map(({ peerId }) => peerId ?? '')
  const neighbours = neighboursOf(nodes, edges)
  const hasNames = nodes.length + neighbours.size <= MAX_NAMES
  const radius = neighbours.size > 24 ? 5 : 8
  const places = layout(nodeIds, neighbours, {
    inner: neighbours.size === 0 ? 116 : 96,
    outer: nodes.length === 1 ? 132 : 144,
    nodeRadius: NODE_RADIUS,
    apart: hasNames ? NAMES_APART : (2.2 * radius) / 144,
  })
  const place = (id: string): { x: number; y: number } => {
    const { x, y } = places.get(id) ?? { x: 0, y: 0 }
    return { x: Math.round(MIDDLE + x), y: Math.round(MIDDLE + y) }
  }
  const now = Date.now()
  return [
    ...nodes.map((node): Vertex => {
      const { tone } = statusOf(node, now)
      const id = node.peerId ?? ''
      return { id, ...place(id), radius: NODE_RADIUS, name: node.name, tone, node }
    }),
    ...[...neighbours.keys()].map((id): Vertex => {
      return { id, ...place(id), radius, name: peerName(page, id), tone: peerTone(page, id), node: undefined }
    }),
  ]
}

/** For each shown peer, ordered by id: the nodes that are connected to it, or that refuse it. */
function neighboursOf(nodes: readonly NodeState[], edges: readonly Edge[]): Map<string, string[]> {
  const nodeIds = new Set(nodes.map(({ peerId }) => peerId))
  const found = new Map<string, string[]>()
  const add = (peer: string, node: string): void => {
    if (!nodeIds.has(peer)) found.set(peer, [...(found.get(peer) ?? []), node])
  }
  const addEdges = (isMesh: boolean): void => {
    for (const { a, b } of edges.filter((edge) => edge.isMesh === isMesh)) {
      add(a, b)
      add(b, a)
    }
  }
  // If the space is limited, mesh peers and refused peers come first.
  addEdges(true)
  const refused = new Set<string>()
  for (const { peerId = '', peers } of nodes) {
    for (const { peerID, ban, blocked, connected } of peers.values()) {
      if (ban === null && !blocked) continue
      if (!connected && refused.size < MAX_REFUSED) refused.add(peerID)
      if (connected || refused.has(peerID)) add(peerID, peerId)
    }
  }
  addEdges(false)
  return new Map([...found].slice(0, MAX_PEERS).sort(([a], [b]) => (a < b ? -1 : 1)))
}

let laidOut: { key: string; places: Map<string, Point> } | undefined

/** Recomputed only on a change, because draws are frequent. */
function layout(...of: Parameters<typeof meshLayout>): Map<string, Point> {
  const [nodeIds, neighbours, options] = of
  const key = JSON.stringify([nodeIds, [...neighbours], options])
  if (laidOut?.key !== key) laidOut = { key, places: meshLayout(...of) }
  return laidOut.places
}

function peerTone({ nodes }: Page, id: string): string {
  const seen = nodes.flatMap(({ peers }) => peers.get(id) ?? [])
  if (seen.some(({ ban, blocked }) => ban !== null || blocked)) return 'bad'
  return seen.some(({ score }) => score < 0) ? 'warned' : 'peer'
}

interface Step {
  from: string | undefined
  to: string
  afterMs: number | undefined
  atMs: number
}

/** The path of the chosen block to each node. */
function wayOf(page: Page): Step[] {
  const { block: hash } = page
  if (hash === undefined) return []
  const steps: Step[] = []
  for (const node of page.nodes) {
    const block = node.blocks.find((candidate) => candidate.hash === hash)
    if (block === undefined || node.peerId === undefined) continue
    const began = beganAtMs(page, block)
    const atMs = block.signedAtMs ?? block.came?.atMs ?? block.executedAtMs
    if (atMs === null) continue
    const afterMs = began === undefined ? undefined : Math.max(0, atMs - began)
    steps.push({ from: block.signedAtMs === null ? block.came?.from : undefined, to: node.peerId, afterMs, atMs })
  }
  return steps.sort((a, b) => a.atMs - b.atMs)
}

/** Lines are below circles, and the times of a block's path are above both. */
function shapesOf(page: Page, vertices: readonly Vertex[], edges: readonly Edge[], way: readonly Step[]): Keyed[] {
  const byIdOf = new Map(vertices.map((vertex) => [vertex.id, vertex]))
  const shape = (tag: 'line' | 'text', attributes: Record<string, string | number>, text?: string): Keyed => ({
    key: JSON.stringify([tag, attributes, text]),
    make: () => svg(tag, attributes, text),
  })
  const lines: Keyed[] = []
  const line = (a: string, b: string, name: string): void => {
    const [from, to] = [byIdOf.get(a), byIdOf.get(b)]
    if (from !== undefined && to !== undefined)
      lines.push(shape('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: name }))
  }
  const taken = new Set(way.flatMap(({ from, to }) => (from === undefined ? [] : [[from, to].sort().join(' ')])))
  for (const { a, b, isMesh } of edges) if (!taken.has(`${a} ${b}`)) line(a, b, isMesh ? 'edge mesh' : 'edge')
  const labels: Keyed[] = []
  for (const { from, to, afterMs } of way) {
    if (from !== undefined) line(from, to, 'edge way')
    const [start, end] = [byIdOf.get(from ?? ''), byIdOf.get(to)]
    if (start === undefined || end === undefined || afterMs === undefined) continue
    const [x, y] = [(start.x + 2 * end.x) / 3, (start.y + 2 * end.y) / 3]
    labels.push(shape('text', { x, y: y + 4, class: 'way-label', 'text-anchor': 'middle' }, `+${duration(afterMs)}`))
  }
  const hasNames = vertices.length <= MAX_NAMES
  const circles = vertices.map((vertex): Keyed => {
    const isOrigin = way.some(({ to, from }) => to === vertex.id && from === undefined)
    const { node, ...appearance } = vertex
    const key = JSON.stringify([appearance, node === page.node, node !== undefined, hasNames, isOrigin])
    return { key, make: () => circle(page, vertex, hasNames, isOrigin) }
  })
  return [...lines, ...circles, ...labels]
}

function circle(
  page: Page,
  { id, x, y, radius, name, tone, node }: Vertex,
  hasName: boolean,
  isOrigin: boolean,
): SVGElement {
  const isChosen = node === page.node
  // The name is above a circle in the upper half and below it in the lower half, because lines go inward.
  const isAbove = y <= MIDDLE
  const open = (): void => (node === undefined ? page.openPeer(id) : page.chooseNode(node))
  const group = svg(
    'g',
    {
      class: `vertex ${tone}${isChosen ? ' chosen' : ''}`,
      role: 'button',
      tabindex: 0,
      'aria-label': node === undefined ? `Peer ${name}` : `Node ${name}`,
    },
    svg('title', {}, node === undefined ? id : name),
    isChosen || isOrigin
      ? svg('circle', { cx: x, cy: y, r: radius + 5, class: isOrigin ? 'halo origin' : 'halo' })
      : null,
    svg('circle', { cx: x, cy: y, r: radius, class: 'body' }),
    tone === 'bad' ? svg('path', { d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`, class: 'cross' }) : null,
    hasName || node !== undefined ? nameText(name, x, isAbove ? y - radius - 7 : y + radius + 15, isAbove) : null,
  )
  group.addEventListener('click', open)
  group.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    open()
  })
  return group
}

/** The name, as near to the circle as the picture allows: outward, because lines go inward. */
function nameText(name: string, x: number, y: number, isAbove: boolean): SVGElement {
  const length = name.length * HALF_LETTER * 2
  const aside = isAbove && Math.abs(x - MIDDLE) > NODE_RADIUS ? Math.sign(x - MIDDLE) * (length / 2 - 4) : 0
  const middle = Math.min(SIZE - length / 2, Math.max(length / 2, x + aside))
  return svg('text', { x: middle, y, 'text-anchor': 'middle' }, name)
}

function legend(): HTMLElement {
  const item = (name: string, text: string): HTMLElement => {
    const line = svg('line', { x1: 1, x2: 23, y1: 4, y2: 4, class: name })
    return el('li', {}, svg('svg', { viewBox: '0 0 24 8', 'aria-hidden': 'true' }, line), text)
  }
  const dot = (name: string, text: string): HTMLElement => {
    const mark = svg('circle', { cx: 7, cy: 7, r: 5, class: 'body' })
    const picture = svg('svg', { viewBox: '0 0 14 14', 'aria-hidden': 'true', class: `vertex ${name}` }, mark)
    return el('li', {}, picture, text)
  }
  return el(
    'ul',
    { class: 'legend' },
    ...[item('edge mesh', 'in the mesh'), item('edge', 'connected'), item('edge way', 'path of the block')],
    ...[dot('good', 'healthy node'), dot('peer', 'peer'), dot('warned', 'degraded, or score below 0')],
    dot('bad', 'stopped, banned or blocked'),
  )
}

function wayText(page: Page, way: readonly Step[]): HTMLElement[] {
  if (page.block === undefined) {
    return [emptyText('Select a recent block to show its path.', 'quiet hint')]
  }
  const number = page.nodes.flatMap(({ blocks }) => blocks.find(({ hash }) => hash === page.block)?.number ?? [])[0]
  if (number === undefined || way.length === 0)
    return [emptyText('The nodes no longer have data of this block.', 'quiet hint')]
  return [
    el('h3', {}, `Path of block ${number}`),
    button('Header and transactions', () => page.openBlock(page.block), 'button small'),
    el(
      'ol',
      { class: 'way' },
      ...way.map(({ from, to, afterMs, atMs }) =>
        el(
          'li',
          {},
          el('strong', {}, nodeNameOf(page, to) ?? shortPeer(to)),
          from === undefined ? ` had the block first, at ${clockTime(atMs)}` : ` from ${peerName(page, from)}`,
          afterMs === undefined || from === undefined ? '' : el('span', { class: 'quiet' }, ` +${duration(afterMs)}`),
        ),
      ),
    ),
  ]
}
