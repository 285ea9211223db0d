import { cpus, loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { blocksTopic } from '../../src/p2p/base/topics.ts'
import { findChromium, startChromium } from '../../test/support/chromium.ts'
import { type JoinedNode, joinTestnet } from '../../test/support/joinedNode.ts'
import { startTestnet } from '../../test/support/testnet.ts'
import { median } from '../figures.ts'
import { startChild } from '../p2p/calls.ts'
import { memoryMb, processorSeconds } from '../processStats.ts'
import type { IdleCalls } from './idleProcess.ts'
import type { PagePeersCalls } from './peersProcess.ts'

// The page of a rollup node with many peers, left open: its memory, the node's event loop delay, and the time to first paint. A
// testnet's sequencer builds blocks, and a follower serves the page. The peers are libp2p hosts with gossip. Needs Linux and
// Chromium.
//
// The page's memory is Chromium's private memory footprint (docs/memory/key_concepts.md): anonymous pages, in memory or swapped
// out, as in its task manager. It includes uncollected garbage, the document, and the memory of an empty page, which is printed
// beside it. It excludes pages of Chromium's own file, which the system may drop and other tabs share. The second figure includes
// file pages that are private at the moment.
//
// The event loop delay covers the whole run. The delay of an idle process is printed beside it, because the machine may have
// other load.

const USAGE = 'node bench/dashboard/main.ts [--peers 200] [--seconds 1800] [--every 30]'
const TARGET = { memoryMb: 150, loopDelayMs: 20, firstPaintMs: 1_000 }
const PROCESSES = 2
const LOADS = 5
/** Interval of prom-client's timer, which its figure contains. */
const LAG_TIMER_MS = 10

const { values } = parseArgs({
  options: {
    peers: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '1800' },
    every: { type: 'string', default: '30' },
  },
})
const [peers, seconds, every] = [Number(values.peers), Number(values.seconds), Number(values.every)]
if (![peers, seconds, every].every((value) => value > 0)) throw new Error(USAGE)
const chromium = findChromium()
if (chromium === undefined) throw new Error('no Chromium is installed (DEVIUM_CHROMIUM names one)')

interface FollowerNode {
  url: string
  metrics: string
  pid: number
}

interface ProcessMemory {
  footprintMb: number
  /** Including file pages that no other process uses at the moment. */
  privateMb: number
}

interface Sample {
  heapMb: number
  memory: ProcessMemory
  nodes: number
  listeners: number
  idleDelayMs: number
}

/** The 99th percentile of the event loop delay, in milliseconds. */
interface LoopDelay {
  nodeMs: number
  idleMs: number
}

const testnet = await startTestnet({ nodes: 1 })
const children = Array.from({ length: PROCESSES }, () =>
  startChild<PagePeersCalls>(new URL('./peersProcess.ts', import.meta.url)),
)
const idle = startChild<IdleCalls>(new URL('./idleProcess.ts', import.meta.url))
let browser: Browser | undefined
let joined: JoinedNode | undefined
try {
  joined = await joinTestnet(testnet, {
    name: 'follower',
    staticPeers: [testnet.nodes[0]?.p2p ?? ''],
    flags: ['--p2p.peerstore.path=memory'],
    env: { DEVIUM_NODE_P2P_PEERS_HI: '1000' },
  })
  const { rollupRpc: url, options } = joined
  const metrics = `http://127.0.0.1:${options.ports.metrics}/metrics`
  const node: FollowerNode = { url, metrics, pid: joined.node.pid ?? Number.NaN }
  const { addresses } = await until(() => selfOf(url))
  const topic = blocksTopic(BigInt(testnet.l2.chainId), 4)
  await Promise.all(
    children.map((child) => child.call('add', { peers: peers / PROCESSES, address: addresses[0] ?? '', topic })),
  )
  console.log(`${cpus().length} processors, load ${loadavg().map((load) => load.toFixed(1))}, ${peers} peers`)
  browser = await startChromium(chromium)
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
  const session = await browser.newBrowserCDPSession()
  // Chromium keeps spare renderer processes.
  console.log(`an empty page: ${memoryText(largest((await renderersOf(session)).map(memoryOf)))}`)
  const paints: number[] = []
  for (let load = 0; load < LOADS; load++) paints.push(await firstPaint(page, `${url}/dashboard`))
  await page
    .locator('.peers tbody tr')
    .nth(peers - 1)
    .waitFor({ timeout: 120_000 })
  console.log(`processes: node ${node.pid}, page ${await renderersOf(session)}`)
  const { samples, delay: ofLoops } = await watch(page, session, node)
  report(paints, samples, ofLoops)
} finally {
  await browser?.close()
  await Promise.all([...children, idle].map((child) => child.stop()))
  await joined?.stop()
  await testnet.stop()
}

async function selfOf(url: string): Promise<{ addresses: string[] }> {
  const client = createRpcClient({ url })
  try {
    return (await client.request('deviump2p_self', [])) as { addresses: string[] }
  } finally {
    await client.close()
  }
}

/** Milliseconds from the request to the first content. The cache holds only what the node allows. */
async function firstPaint(page: Page, url: string): Promise<number> {
  await page.goto(url)
  const paint = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0)
  return page.evaluate(paint)
}

async function renderersOf(session: CDPSession): Promise<number[]> {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id)
}

async function watch(
  page: Page,
  session: CDPSession,
  node: FollowerNode,
): Promise<{ samples: Sample[]; delay: LoopDelay }> {
  const renderers = await renderersOf(session)
  const ofPage = await page.context().newCDPSession(page)
  await ofPage.send('Performance.enable')
  const metricsOfPage = async () => {
    const { metrics } = await ofPage.send('Performance.getMetrics')
    return (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0
  }
  // Discards earlier values: prom-client resets at each reading.
  await loopDelayMs(node)
  await idle.call('begin')
  const samples: Sample[] = []
  const began = performance.now()
  const before = { node: processorSeconds(node.pid), page: sum(renderers.map(processorSeconds)) }
  const elapsed = () => (performance.now() - began) / 1_000
  while (elapsed() < seconds) {
    await delay(Math.min(every, seconds - elapsed()) * 1_000)
    const metric = await metricsOfPage()
    const sample = {
      heapMb: metric('JSHeapUsedSize') / 1e6,
      memory: largest(renderers.map(memoryOf)),
      nodes: metric('Nodes'),
      listeners: metric('JSEventListeners'),
      idleDelayMs: await idle.call('latelyMs'),
    }
    samples.push(sample)
    console.log(`${elapsed().toFixed(0)} s: ${shown(sample)}`)
  }
  const share = (used: number) => `${((used / elapsed()) * 100).toFixed(0)}% of a processor`
  console.log(
    `the node took ${share(processorSeconds(node.pid) - before.node)}, the page ${share(sum(renderers.map(processorSeconds)) - before.page)}`,
  )
  return { samples, delay: { nodeMs: await loopDelayMs(node), idleMs: await idle.call('wholeMs') } }
}

function shown({ heapMb, memory, nodes, listeners, idleDelayMs }: Sample): string {
  return `page ${memoryText(memory)}, ${heapMb.toFixed(1)} MB of JavaScript, ${nodes} nodes, ${listeners} listeners; an idle process p99 ${idleDelayMs.toFixed(1)} ms late`
}

function memoryText({ footprintMb, privateMb }: ProcessMemory): string {
  return `${footprintMb.toFixed(0)} MB (${privateMb.toFixed(0)} private)`
}

function report(paints: readonly number[], samples: readonly Sample[], { nodeMs, idleMs }: LoopDelay): void {
  const rows: [string, number, number, string][] = [
    ['first paint, median', median(paints), TARGET.firstPaintMs, 'ms'],
    ["the page's memory, largest", largest(samples.map(({ memory }) => memory)).footprintMb, TARGET.memoryMb, 'MB'],
    ["the node's loop p99", nodeMs, TARGET.loopDelayMs, 'ms'],
  ]
  for (const [what, seen, target, unit] of rows) {
    console.log(`${what}: ${seen.toFixed(1)} ${unit} (target ${target})${seen > target ? ', MISSED' : ''}`)
  }
  console.log(`an idle process's loop p99 in the same time: ${idleMs.toFixed(1)} ms`)
}

async function loopDelayMs({ metrics }: FollowerNode): Promise<number> {
  const text = await (await fetch(metrics)).text()
  const p99 = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1] ?? Number.NaN)
  return Math.max(0, p99 * 1_000 - LAG_TIMER_MS)
}

function memoryOf(pid: number): ProcessMemory {
  return {
    footprintMb: memoryMb(pid, 'status', 'RssAnon', 'VmSwap'),
    privateMb: memoryMb(pid, 'smaps_rollup', 'Private_Clean', 'Private_Dirty', 'Swap'),
  }
}

function largest(memories: readonly ProcessMemory[]): ProcessMemory {
  return memories.reduce((one, other) => (other.footprintMb > one.footprintMb ? other : one))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
