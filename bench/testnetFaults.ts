import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { createRpcClient, type RpcClient } from '../src/jsonRpc/client.ts'
import { until } from '../src/lib/testUtils/until.ts'
import { type JoinedNode, joinTestnet } from '../test/support/joinedNode.ts'
import { complaintsIn, startTestnet } from '../test/support/testnet.ts'
import { startTcpProxy, type TcpProxy } from '../testnet/links/tcpProxy.ts'
import type { Endpoints } from '../testnet/runner/events.ts'

// A real testnet of three nodes under faults. Two more nodes join by links which can be cut: the fourth to the sequencer, the
// fifth to the fourth. All are real programs.
// Run: node bench/testnetFaults.ts [SECONDS APART]

const [apartText = '60'] = process.argv.slice(2)
const apartMs = Number(apartText) * 1000
const CYCLES = 6
const KILLED_MS = 5_000

interface Joined extends JoinedNode {
  rollup: RpcClient
  eth: RpcClient
}

const testnet = await startTestnet()
const stops: (() => Promise<unknown>)[] = []
try {
  const [sequencer] = testnet.nodes
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  const first = await linkTo(sequencer.p2p)
  const fourth = await joinBy(testnet, 'joined4', first.address)
  const self = (await fourth.rollup.request('opp2p_self', [])) as { peerID: string }
  const second = await linkTo(`/ip4/127.0.0.1/tcp/${fourth.options.ports.p2p}/p2p/${self.peerID}`)
  const fifth = await joinBy(testnet, 'joined5', second.address)
  const eths = [...testnet.nodes.map(({ ethRpc }) => client(ethRpc)), fourth.eth, fifth.eth]
  const [lead, ...others] = eths
  if (lead === undefined) throw new RangeError('a testnet has a sequencer')
  await oneHead(lead, others)

  for (const link of [first.link, second.link]) {
    link.freeze()
    link.pause()
  }
  await delay(apartMs)
  const behind = await lags(lead, [fourth.eth, fifth.eth])
  for (const link of [first.link, second.link]) link.allow()
  console.log('apart', { seconds: apartMs / 1000, behind, oneHeadAfterMs: await oneHead(lead, others) })

  fourth.node.kill()
  await fourth.node.exited
  await delay(KILLED_MS)
  fourth.startNodeAgain()
  const killed = performance.now()
  await until(async () => (await connected(fourth.rollup)) === 2)
  const reconnectedMs = Math.round(performance.now() - killed)
  console.log('killed', { awayMs: KILLED_MS, reconnectedMs, oneHeadAfterMs: await oneHead(lead, others) })

  const worst = { behind: 0, caughtUpMs: 0 }
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    if (cycle % 2 === 0) first.link.cut()
    else first.link.pause()
    await delay(3_000)
    first.link.allow()
    worst.caughtUpMs = Math.max(worst.caughtUpMs, await oneHead(lead, others))
    await delay(2_000)
    worst.behind = Math.max(worst.behind, ...(await lags(lead, [fourth.eth, fifth.eth])))
    await delay(3_000)
  }
  console.log('cut for 3 s', { cycles: CYCLES, ...worst })
  console.log('warnings and errors in the logs', complaintsIn(join(testnet.dir, 'logs')).slice(0, 10))
} finally {
  for (const stop of stops.reverse()) await stop()
  await testnet.stop()
}
process.exit()

function client(url: string): RpcClient {
  const created = createRpcClient({ url })
  stops.push(() => created.close())
  return created
}

async function linkTo(address: string): Promise<{ link: TcpProxy; address: string }> {
  const link = await startTcpProxy(Number(/\/tcp\/(\d+)/.exec(address)?.[1]))
  stops.push(() => link.close())
  return { link, address: address.replace(/\/tcp\/\d+/, `/tcp/${link.port}`) }
}

/** Adds a node with this static peer only. Resolves when it answers. */
async function joinBy(net: Endpoints, name: string, staticPeer: string): Promise<Joined> {
  const joined = await joinTestnet(net, { name, staticPeers: [staticPeer] })
  stops.push(() => joined.stop())
  const clients = { rollup: client(joined.rollupRpc), eth: client(joined.ethRpc) }
  await until(async () => (await connected(clients.rollup)) === 1)
  return Object.assign(joined, clients)
}

async function connected(rollup: RpcClient): Promise<number> {
  const stats = await rollup.request('opp2p_peerStats', []).catch(() => ({ connected: 0 }))
  return (stats as { connected: number }).connected
}

async function head(eth: RpcClient): Promise<{ number: number; hash: string }> {
  const block = (await eth.request('eth_getBlockByNumber', ['latest', false])) as { number: string; hash: string }
  return { number: Number(block.number), hash: block.hash }
}

async function lags(lead: RpcClient, others: readonly RpcClient[]): Promise<number[]> {
  const [leading, ...heads] = await Promise.all([lead, ...others].map(head))
  return heads.map(({ number }) => (leading?.number ?? 0) - number)
}

/** Milliseconds until all nodes have the same unsafe head. */
async function oneHead(lead: RpcClient, others: readonly RpcClient[]): Promise<number> {
  const startMs = performance.now()
  await until(async () => new Set((await Promise.all([lead, ...others].map(head))).map(({ hash }) => hash)).size === 1)
  return Math.round(performance.now() - startMs)
}
