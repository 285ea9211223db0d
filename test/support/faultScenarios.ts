import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from '../../src/lib/testUtils/until.ts'
import { testBlocks, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { startTestNode, tcpPortOf } from '../../src/p2p/testUtils/testNode.ts'
import type { PayloadEnvelope, RollupConfig } from '../../src/rollup/protocol/types.ts'
import { startTcpProxy, type TcpProxy } from '../../testnet/links/tcpProxy.ts'
import { type ChainNode, type ChainNodeOptions, startChainNode } from './chainNode.ts'

/**
 * `reset`: current and new connections are reset. `silent`: data waits, and connections stay open. `forgotten`: like `silent`,
 * but old connections stay dead afterwards.
 */
export type CutKind = 'reset' | 'silent' | 'forgotten'
export const CUT_KINDS: readonly CutKind[] = ['reset', 'silent', 'forgotten']

function cut(link: TcpProxy, kind: CutKind): void {
  if (kind === 'forgotten') link.freeze()
  if (kind === 'reset') link.cut()
  else link.pause()
}

/** The node's address with the proxy's port. The node may change: a restarted one has another port. */
async function linkTo(running: () => { address: string }): Promise<{ link: TcpProxy; address: string }> {
  const link = await startTcpProxy(() => tcpPortOf(running().address))
  return { link, address: running().address.replace(/\/tcp\/\d+/, `/tcp/${link.port}`) }
}

/** Produces a block every block time until it is stopped. */
function makeBlocks(sequencer: ChainNode, blockTimeS: number): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    last = sequencer.produce()
  }, blockTimeS * 1000)
  return async () => {
    clearInterval(timer)
    await last
  }
}

/** The lowest score and the bans of all peers at all nodes. */
async function scoresAndBans(nodes: readonly ChainNode[]): Promise<{ lowestScore: number; bans: number }> {
  let lowestScore = Number.POSITIVE_INFINITY
  let bans = 0
  for (const { node } of nodes) {
    const { peers } = await node.peers(true)
    for (const peer of Object.values(peers)) lowestScore = Math.min(lowestScore, peer.scores.gossip.total)
    bans += (await node.bans()).length
  }
  return { lowestScore, bans }
}

export interface CutLinkOptions {
  kind: CutKind
  blockTimeS: number
  cycles: number
  cutMs?: number
  /** Time from the link's recovery to the next cut. The cut also waits until the follower has the unsafe head. */
  openMs?: number
}

export interface CutLinkReport {
  kind: CutKind
  blockTimeS: number
  cycles: number
  blocks: number
  /** Maximum number of missing blocks from 2 s after the recovery until the next cut. */
  worstBehind: number
  /** Milliseconds from the recovery until the follower had the unsafe head: worst cycle, and median. */
  worstCaughtUpMs: number
  medianCaughtUpMs: number
  /** Blocks that reached the follower less than 100 ms after the sequencer had them. */
  onTime: number
  lowestScore: number
  bans: number
  sameChain: boolean
}

/** A link between sequencer and follower that is cut repeatedly. */
export async function cutLink({
  kind,
  blockTimeS,
  cycles,
  cutMs = 3_000,
  openMs = 7_000,
}: CutLinkOptions): Promise<CutLinkReport> {
  const config = testConfig('holocene', { blockTime: blockTimeS })
  const sequencer = await startChainNode(config, { isSequencer: true })
  const { link, address } = await linkTo(() => sequencer)
  const follower = await startChainNode(config, { staticPeers: [address] })
  const stopBlocks = makeBlocks(sequencer, blockTimeS)
  try {
    await until('the first block', () => follower.height > 0)
    let worstBehind = 0
    let lowestScore = Number.POSITIVE_INFINITY
    const caughtUpMs: number[] = []
    for (let cycle = 0; cycle < cycles; cycle++) {
      cut(link, kind)
      await delay(cutMs)
      link.allow()
      const backAtMs = performance.now()
      const measure = (): number => {
        const behind = sequencer.height - follower.height
        if (performance.now() - backAtMs >= 2_000) worstBehind = Math.max(worstBehind, behind)
        return behind
      }
      await until('the newest block', () => measure() === 0)
      caughtUpMs.push(performance.now() - backAtMs)
      while (performance.now() - backAtMs < openMs) {
        await delay(20)
        measure()
      }
      lowestScore = Math.min(lowestScore, (await scoresAndBans([sequencer, follower])).lowestScore)
    }
    await stopBlocks()
    await until('the last block', () => follower.height === sequencer.height).catch(() => undefined)
    caughtUpMs.sort((a, b) => a - b)
    let onTime = 0
    for (const [height, atMs] of sequencer.reachedAtMs) {
      if ((follower.reachedAtMs.get(height) ?? Number.POSITIVE_INFINITY) - atMs < 100) onTime += 1
    }
    return {
      kind,
      blockTimeS,
      cycles,
      blocks: sequencer.height,
      worstBehind,
      worstCaughtUpMs: Math.round(caughtUpMs.at(-1) ?? 0),
      medianCaughtUpMs: Math.round(caughtUpMs[caughtUpMs.length >> 1] ?? 0),
      onTime,
      lowestScore,
      bans: (await scoresAndBans([sequencer, follower])).bans,
      sameChain: follower.hash === sequencer.hash,
    }
  } finally {
    await stopBlocks()
    await Promise.all([sequencer.stop(), follower.stop()])
    await link.close()
  }
}

export type Shape = 'line' | 'ring' | 'star'
export const SHAPES: readonly Shape[] = ['line', 'ring', 'star']

export interface PartitionReport {
  shape: Shape
  kind: CutKind
  partitionMs: number
  /** Blocks that the other side lacked when the links recovered. */
  missed: number
  /** Milliseconds from then until all nodes had the sequencer's unsafe head. */
  healedMs: number
  lowestScore: number
  bans: number
}

/** Five nodes. The first makes a block each second, and two are partitioned from the others for a while. */
export async function partition(shape: Shape, kind: CutKind, partitionMs: number): Promise<PartitionReport> {
  const config = testConfig()
  const sequencer = await startChainNode(config, { isSequencer: true })
  const nodes = [sequencer]
  const proxies: TcpProxy[] = []
  const border: TcpProxy[] = []
  /** The nodes to which each node is linked. */
  const plans: Record<Shape, number[][]> = {
    line: [[0], [1], [2], [3]],
    ring: [[0], [1], [2], [3, 0]],
    star: [[0], [0], [0], [0]],
  }
  const far = new Set([3, 4])
  for (const [index, targets] of plans[shape].entries()) {
    const own = index + 1
    const staticPeers: string[] = []
    for (const target of targets) {
      const other = nodes[target]
      if (other === undefined) throw new RangeError('a link to a node that is not there yet')
      const { link, address } = await linkTo(() => other)
      proxies.push(link)
      staticPeers.push(address)
      if (far.has(own) !== far.has(target)) border.push(link)
    }
    nodes.push(await startChainNode(config, { staticPeers }))
  }
  const stopBlocks = makeBlocks(sequencer, 1)
  try {
    await until('a block at every node', () => nodes.every(({ height }) => height > 0))
    for (const link of border) cut(link, kind)
    await delay(partitionMs)
    const missed = sequencer.height - Math.min(...nodes.map(({ height }) => height))
    for (const link of border) link.allow()
    const backAtMs = performance.now()
    await until('one head', () => nodes.every(({ hash }) => hash === sequencer.hash))
    const healedMs = Math.round(performance.now() - backAtMs)
    return { shape, kind, partitionMs, missed, healedMs, ...(await scoresAndBans(nodes)) }
  } finally {
    await stopBlocks()
    await Promise.all(nodes.map((node) => node.stop()))
    await Promise.all(proxies.map((proxy) => proxy.close()))
  }
}

/** A chain of blocks up to the present, and its config. */
function chainUpToNow(blocks: number): { config: RollupConfig; chain: PayloadEnvelope[] } {
  const l2Time = Math.floor(Date.now() / 1000) - blocks
  const config = testConfig('holocene', { genesis: { ...testConfig().genesis, l2Time } })
  return { config, chain: testBlocks(config, 1, blocks) }
}

export interface CatchUpReport {
  behind: number
  /** Milliseconds from the follower's start until it had the sequencer's unsafe head. */
  caughtUpMs: number
}

/** A follower that starts far behind. It catches up only by gossip and by block requests. */
export async function catchUp(behind: number, follow: { helpers?: ChainNodeOptions[] } = {}): Promise<CatchUpReport> {
  const { config, chain } = chainUpToNow(behind)
  const sequencer = await startChainNode(config, { isSequencer: true, blocks: chain })
  const helpers = await Promise.all(
    (follow.helpers ?? []).map((options) =>
      startChainNode(config, { blocks: chain, ...options, staticPeers: [sequencer.address] }),
    ),
  )
  await until('meshes', () => sequencer.node.meshSize() === helpers.length)
  const stopBlocks = makeBlocks(sequencer, 1)
  const startedAtMs = performance.now()
  const follower = await startChainNode(config, {
    staticPeers: [...helpers.map(({ address }) => address), sequencer.address],
  })
  try {
    await until('the newest block', () => follower.hash === sequencer.hash)
    return { behind, caughtUpMs: Math.round(performance.now() - startedAtMs) }
  } finally {
    await stopBlocks()
    await Promise.all([sequencer, follower, ...helpers].map((node) => node.stop()))
  }
}

/**
 * A sequencer that stops for a while and restarts with its chain, key and address. Measures the time until its next block arrives.
 */
export async function restartSequencer(awayMs: number): Promise<{ awayMs: number; blockAfterMs: number }> {
  const config = testConfig()
  const privateKey = new Uint8Array(randomBytes(32))
  const first = await startChainNode(config, { isSequencer: true, privateKey })
  let running = first
  const { link, address } = await linkTo(() => running)
  const follower = await startChainNode(config, { staticPeers: [address] })
  await until('the mesh', () => first.node.meshSize() === 1)
  await first.produce()
  await until('the first block', () => follower.height === 1)
  // The follower is disconnected when the last blocks are made.
  await first.stop()
  await until('the loss', () => follower.node.connectedPeers().length === 0)
  await delay(awayMs)
  const second = await startChainNode(config, { isSequencer: true, privateKey, blocks: first.chain })
  running = second
  const backAtMs = performance.now()
  const stopBlocks = makeBlocks(second, 0.1)
  try {
    await until('a block', () => follower.height > first.height)
    return { awayMs, blockAfterMs: Math.round(performance.now() - backAtMs) }
  } finally {
    await stopBlocks()
    await Promise.all([second.stop(), follower.stop()])
    await link.close()
  }
}

const PEER_PROCESS = fileURLToPath(new URL('./peerProcess.ts', import.meta.url))

/** A p2p node in a separate process. Resolves when it listens. */
async function startPeerProcess(key: string): Promise<{ child: ChildProcess; address: string }> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', PEER_PROCESS, key],
    // It ends with this process, because the system closes the pipe.
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const [address = ''] = await Promise.race([
    new Promise<string[]>((resolve) =>
      createInterface({ input: child.stdout }).once('line', (line) => resolve([line])),
    ),
    new Promise<never>((_, reject) => child.once('exit', () => reject(new Error('the peer ended at its start')))),
  ])
  return { child, address }
}

export interface KilledPeerReport {
  awayMs: number
  /** Milliseconds from the kill until the disconnection was noticed. */
  noticedMs: number
  /** Milliseconds from the peer's restart until it is connected. */
  reconnectedMs: number
}

/** A static peer is killed by SIGKILL and restarted after a while. */
export async function killStaticPeer(awayMs: number): Promise<KilledPeerReport> {
  const key = randomBytes(32).toString('hex')
  let running = await startPeerProcess(key)
  const { link, address } = await linkTo(() => running)
  const { node } = await startTestNode({ staticPeers: [address] })
  try {
    await until('the connection', () => node.connectedPeers().length === 1)
    await delay(2_500)
    const killedAtMs = performance.now()
    running.child.kill('SIGKILL')
    await until('the loss', () => node.connectedPeers().length === 0)
    const noticedMs = Math.round(performance.now() - killedAtMs)
    await delay(Math.max(0, awayMs - noticedMs))
    running = await startPeerProcess(key)
    const backAtMs = performance.now()
    await until('the connection again', () => node.connectedPeers().length === 1)
    return { awayMs, noticedMs, reconnectedMs: Math.round(performance.now() - backAtMs) }
  } finally {
    await node.stop()
    running.child.kill('SIGKILL')
    await link.close()
  }
}

export interface DroppingLinksReport {
  blocks: number
  /** Milliseconds from the sequencer to a follower, for the slowest block. */
  slowestMs: number
  sameChain: boolean
  bans: number
}

/**
 * A sequencer and two followers, all linked: far fewer than a full mesh. The links to the sequencer are cut in turn, so that one
 * path always remains.
 */
export async function droppingLinks(kind: CutKind, cuts: number): Promise<DroppingLinksReport> {
  const config = testConfig()
  const sequencer = await startChainNode(config, { isSequencer: true })
  const links = await Promise.all([linkTo(() => sequencer), linkTo(() => sequencer)])
  const [toFirst, toSecond] = links
  if (toFirst === undefined || toSecond === undefined) throw new RangeError('two links')
  const first = await startChainNode(config, { staticPeers: [toFirst.address] })
  const second = await startChainNode(config, { staticPeers: [toSecond.address, first.address] })
  const nodes = [sequencer, first, second]
  await until('all connected', () => nodes.every(({ node }) => node.connectedPeers().length === 2))
  const stopBlocks = makeBlocks(sequencer, 0.25)
  try {
    await until('the first block', () => nodes.every(({ height }) => height > 0))
    for (let turn = 0; turn < cuts; turn++) {
      const link = turn % 2 === 0 ? toFirst.link : toSecond.link
      cut(link, kind)
      // These blocks have only the other path.
      const made = sequencer.height + 4
      await until('blocks by the way that is left', () => nodes.every(({ height }) => height >= made))
      link.allow()
      // The dead connection must be noticed before the other link is cut.
      await delay(4_000)
    }
    await stopBlocks()
    await until('the last block', () => nodes.every(({ hash }) => hash === sequencer.hash)).catch(() => undefined)
    let slowestMs = 0
    for (const [height, atMs] of sequencer.reachedAtMs) {
      for (const { reachedAtMs } of [first, second]) {
        slowestMs = Math.max(slowestMs, (reachedAtMs.get(height) ?? Number.POSITIVE_INFINITY) - atMs)
      }
    }
    return {
      blocks: sequencer.height,
      slowestMs: Math.round(slowestMs),
      sameChain: nodes.every(({ hash }) => hash === sequencer.hash),
      bans: (await scoresAndBans(nodes)).bans,
    }
  } finally {
    await stopBlocks()
    await Promise.all(nodes.map((node) => node.stop()))
    await Promise.all(links.map(({ link }) => link.close()))
  }
}
