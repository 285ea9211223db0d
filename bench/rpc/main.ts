import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { startDeviumGeth } from '../../test/support/deviumGeth.ts'
import { type JoinedNode, joinTestnet } from '../../test/support/joinedNode.ts'
import { newestForkKnownTo } from '../../test/support/knownForks.ts'
import { startOpNode } from '../../test/support/opNode.ts'
import { descendantsOf } from '../../test/support/processes.ts'
import { stopPrograms } from '../../test/support/programs.ts'
import { startTestnet } from '../../test/support/testnet.ts'
import { median } from '../figures.ts'
import { startChild } from '../p2p/calls.ts'
import { memoryMb, processorSeconds, procFile } from '../processStats.ts'
import { measureRate } from './load.ts'
import type { PeersCalls } from './peersProcess.ts'

// RPC calls a second of a rollup node, compared with op-node (DEVIUM_OP_NODE=/path/to/op-node), and the memory after the load.
// Both run on devium-geth in the same testnet with the same peers. On a busy machine use the processor time of a call, because Go
// runs on all cores. Linux only.

const USAGE = `node bench/rpc/main.ts [--peers 0,30,200] [--seconds 5] [--rounds 3] [--connections 16] [--load 300]
  --seconds S   of each measurement; ours and op-node's take turns
  --load S      of syncStatus, before and after which the memory is looked at; 0 leaves it out`

const { values } = parseArgs({
  options: {
    peers: { type: 'string', default: '0,30,200' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '16' },
    load: { type: 'string', default: '300' },
  },
})
const [seconds, rounds, connections, loadSeconds] = [
  Number(values.seconds),
  Number(values.rounds),
  Number(values.connections),
  Number(values.load),
]
const peerCounts = values.peers.split(',').map(Number)
if ([seconds, rounds, connections, loadSeconds, ...peerCounts].some(Number.isNaN)) throw new Error(USAGE)

interface RpcServer {
  url: string
  pid: number
}

/** More than any bench has. */
const PEERS_HIGH = '1000'
process.env.OP_NODE_P2P_PEERS_HI = PEERS_HIGH

const opNode = process.env.DEVIUM_OP_NODE
const directory = mkdtempSync(join(tmpdir(), 'devium-rpc-bench-'))
const folder = (name: string): string => {
  mkdirSync(join(directory, name))
  return join(directory, name)
}
const testnet = await startTestnet({
  nodes: 1,
  ...(opNode === undefined ? {} : { args: ['--fork', newestForkKnownTo({ opNode })] }),
})
const peers = startChild<PeersCalls>(new URL('./peersProcess.ts', import.meta.url))
let joined: JoinedNode | undefined
try {
  joined = await joinTestnet(testnet, {
    name: 'devium',
    staticPeers: [testnet.nodes[0]?.p2p ?? ''],
    flags: ['--p2p.peerstore.path=memory', '--dashboard=false'],
    env: { DEVIUM_NODE_P2P_PEERS_HI: PEERS_HIGH },
  })
  const ours: RpcServer = { url: joined.rollupRpc, pid: joined.node.pid ?? Number.NaN }
  const theirs =
    opNode === undefined
      ? undefined
      : await startOpNode(opNode, await startDeviumGeth(testnet.joinDir, folder('op-geth')), testnet, folder('op-node'))
  const servers = [ours]
  if (theirs !== undefined) servers.push({ url: theirs, pid: pidOf(opNode ?? '') })
  await Promise.all(servers.map(({ url }) => until(() => request(url, 'optimism_syncStatus'))))

  console.log(`calls a second, ${connections} connections; median of ${rounds}`)
  await compare(servers, 'optimism_syncStatus', [])
  await compare(servers, 'optimism_rollupConfig', [])
  for (const count of peerCounts) {
    const addresses = await Promise.all(servers.map(({ url }) => p2pAddress(url)))
    await peers.call('have', { peers: count, addresses })
    await compare(servers, 'opp2p_peers', [true], ` (${count} peers more)`)
  }
  if (loadSeconds > 0) {
    const resident = () => memoryMb(ours.pid, 'status', 'VmRSS')
    const before = resident()
    await measureRate(ours.url, { method: 'optimism_syncStatus', params: [] }, { connections, seconds: loadSeconds })
    const after = resident()
    await delay(30_000)
    console.log(
      `memory: ${before.toFixed(0)} MB, after ${loadSeconds} s of syncStatus ${after.toFixed(0)}, 30 s later ${resident().toFixed(0)}`,
    )
  }
} finally {
  await peers.stop()
  await joined?.stop()
  await stopPrograms()
  await testnet.stop()
  rmSync(directory, { recursive: true, force: true })
}

async function compare(servers: readonly RpcServer[], method: string, params: unknown[], what = ''): Promise<void> {
  const measured = servers.map((server) => ({ server, rates: [] as number[], microseconds: [] as number[] }))
  for (let round = 0; round < rounds; round++) {
    for (const { server, rates, microseconds } of measured) {
      const before = processorSeconds(server.pid)
      const { perSecond, calls } = await measureRate(server.url, { method, params }, { connections, seconds })
      rates.push(perSecond)
      microseconds.push(((processorSeconds(server.pid) - before) * 1e6) / calls)
    }
  }
  const [own, rival] = measured.map(({ rates, microseconds }) => ({
    rate: median(rates),
    cpu: median(microseconds),
  }))
  const show = ({ rate, cpu }: { rate: number; cpu: number }): string =>
    `${rate.toFixed(0)}/s, ${cpu.toFixed(0)} µs of CPU`
  if (own === undefined) return
  const times = rival === undefined ? 1 : own.rate / rival.rate
  const beside =
    rival === undefined
      ? ''
      : `; op-node ${show(rival)}: ${times.toFixed(2)}x, by CPU ${(rival.cpu / own.cpu).toFixed(2)}x`
  console.log(`${method}${what}: ${show(own)}${beside}`)
}

async function request(url: string, method: string, params: unknown[] = []): Promise<unknown> {
  const client = createRpcClient({ url })
  try {
    return await client.request(method, params)
  } finally {
    await client.close()
  }
}

async function p2pAddress(url: string): Promise<string> {
  const { addresses } = (await request(url, 'opp2p_self')) as { addresses: string[] }
  const own = addresses.find((address) => address.startsWith('/ip4/127.0.0.1/'))
  if (own === undefined) throw new Error(`${url} has no address on loopback`)
  return own
}

/** Process id of the program with this path that was started here. */
function pidOf(binary: string): number {
  const isIt = (pid: number): boolean => procFile(pid, 'cmdline').startsWith(`${binary}\0`)
  return descendantsOf(process.pid).find(isIt) ?? Number.NaN
}
