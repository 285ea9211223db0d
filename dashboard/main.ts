import { BlockSheet } from './blockSheet.ts'
import { showBlocks } from './blocksView.ts'
import { showChart, startChart } from './chartView.ts'
import { showBatcher, showDerivation } from './derivationView.ts'
import { byId, setText } from './dom.ts'
import { messageOf } from './format.ts'
import { showHeads, startHeads } from './headsView.ts'
import { showMesh } from './meshView.ts'
import { NodeState } from './nodeState.ts'
import type { Page } from './page.ts'
import { PeerSheet } from './peerSheet.ts'
import { filterPeers, showPeers, startPeers } from './peersView.ts'
import { type Place, readPlace, writePlace } from './place.ts'
import { showRefusals } from './refusalsView.ts'
import { showNodes, showStatus } from './statusView.ts'
import { showTestnet } from './testnetView.ts'
import { startTheme } from './theme.ts'

/** `dashboard/nodes.json`. */
interface Nodes {
  name: string
  /** Whether the node that serves this page refuses changes. Other nodes report it at the first change. */
  refusesChanges: boolean
  others: { name: string; webSocket: string }[]
}

/** Minimum time between two draws. While a node syncs, heads change many times a second. */
const DRAW_MS = 250
/** Ages increase without events. */
const TICK_MS = 1_000

async function start(): Promise<void> {
  startTheme()
  startHeads()
  const nodes = await readNodes()
  const [first] = nodes
  if (first === undefined) return
  const page: Page = {
    nodes,
    node: first,
    block: undefined,
    peer: undefined,
    chooseNode: (node) => go({ node: node === first ? undefined : node.name }),
    chooseBlock: (block) => go({ block }),
    openPeer: (peer) => go({ peer }),
    openBlock: (details) => go({ details }),
    choosePeers: (filter) => go(filter, 'replaceState'),
  }
  const go = (changes: Place, how: 'pushState' | 'replaceState' = 'pushState'): void => {
    const before = readPlace(location.hash)
    const hash = writePlace({ ...before, ...changes })
    if (hash === writePlace(before)) return
    history[how](null, '', `${location.pathname}${location.search}${hash}`)
    show()
  }
  /** Shows the state that the address names. */
  const show = (): void => {
    const place = readPlace(location.hash)
    page.node = nodes.find(({ name }) => name === place.node) ?? first
    page.block = place.block
    filterPeers(place)
    sheet.show(place.peer)
    blockSheet.show(place.details)
    draw()
  }
  const sheet = new PeerSheet(page)
  const blockSheet = new BlockSheet(page)
  startPeers(page)
  startChart(page)

  let drawnAtMs = 0
  const draw = (): void => {
    drawnAtMs = performance.now()
    const { node } = page
    const nowMs = Date.now()
    showNodes(nodes, node, nowMs, page.chooseNode)
    showStatus(page, nowMs)
    document.body.classList.toggle('stale', node.connectionState === 'lost')
    setText(
      byId('chain'),
      node.identity === undefined ? '' : `chain ${node.identity.chainId} · ${node.identity.version}`,
    )
    showHeads(node, nowMs)
    showChart(page)
    showMesh(page)
    showBlocks(page)
    showPeers(page)
    showRefusals(page)
    showDerivation(node, nowMs)
    showBatcher(node, nowMs)
    showTestnet(first)
  }
  let frame = 0
  changed = () => {
    if (frame !== 0) return
    frame = window.setTimeout(
      () => {
        frame = 0
        if (!document.hidden) draw()
      },
      Math.max(0, drawnAtMs + DRAW_MS - performance.now()),
    )
  }
  document.addEventListener('visibilitychange', () => changed())
  setInterval(() => changed(), TICK_MS)
  addEventListener('popstate', show)
  addEventListener('hashchange', show)
  show()
  for (const node of nodes) node.open()
}

let changed = (): void => {}

async function readNodes(): Promise<NodeState[]> {
  const response = await fetch('dashboard/nodes.json')
  const { name, refusesChanges, others }: Nodes = await response.json()
  const own = new URL('./', location.href)
  own.protocol = own.protocol.replace('http', 'ws')
  own.search = ''
  own.hash = ''
  return [
    new NodeState(name, own.href, { refusesChanges }, () => changed()),
    ...others.map(({ name, webSocket }) => new NodeState(name, webSocket, { refusesChanges: false }, () => changed())),
  ]
}

start().catch((error: unknown) => {
  setText(byId('sentence'), `The page could not start: ${messageOf(error)}`)
})
