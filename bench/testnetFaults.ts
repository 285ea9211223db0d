import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createRpcClient, type RpcClient } from '../src/lib/jsonRpc/client.ts'
import { startTcpProxy, type TcpProxy } from '../src/p2p/testUtils/tcpProxy.ts'
import { complaintsIn, startTestnet } from '../test/support/testnet.ts'
import { ManagedProcess } from '../testnet/process/managedProcess.ts'
import type { Endpoints } from '../testnet/runner/events.ts'
import { findFreePorts } from '../testnet/runner/ports.ts'
import { geth, gethInit, type NodeCallOptions, type ProgramCall, rollupNode } from '../testnet/runner/programs.ts'

// A real testnet under faults: three nodes, and two that join by links which can be cut, the fourth to the sequencer, the
// fifth to the fourth. All are real programs. Run: node bench/testnetFaults.ts [SECONDS APART]

const [apartText = '60'] = process.argv.slice(2)
const apartMs = Number(apartText) * 1000
const CYCLES = 6
const KILLED_MS = 5_000

interface Joined {
  options: NodeCallOptions
  geth: ManagedProcess
  node: ManagedProcess
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
  fourth.node = start(testnet, 'joined4-node', rollupNode(fourth.options))
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

function start({ dir }: Endpoints, name: string, { program, args, env }: ProgramCall): ManagedProcess {
  const script = fileURLToPath(new URL(`../bin/${program}.mjs`, import.meta.url))
  const logPath = join(dir, 'logs', `${name}.log`)
  const started = ManagedProcess.start({
    name,
    command: { script },
    args,
    logPath,
    ...(env === undefined ? {} : { env }),
  })
  stops.push(() => started.stop('SIGTERM', 10_000))
  return started
}

/** One more node with this as its only static peer; resolves when it answers. */
async function joinBy(net: Endpoints, name: string, staticPeer: string): Promise<Joined> {
  const dir = join(net.dir, name)
  mkdirSync(dir)
  const files = {
    gethDataDir: join(dir, 'geth'),
    jwt: join(dir, 'jwt.txt'),
    p2pKey: join(dir, 'p2p-key.txt'),
    peerstore: join(dir, 'peerstore'),
    genesis: join(net.joinDir, 'genesis.json'),
    rollupConfig: join(net.joinDir, 'rollup.json'),
    l1Config: join(net.joinDir, 'l1.json'),
  }
  writeFileSync(files.jwt, randomBytes(32).toString('hex'))
  const [ports] = (await findFreePorts(1, '127.0.0.1')).nodes
  if (ports === undefined) throw new RangeError('no ports')
  const options: NodeCallOptions = {
    files,
    ports,
    host: '127.0.0.1',
    l1Rpc: net.l1.rpc,
    staticPeers: [staticPeer],
    sequencerRpc: net.nodes[0]?.ethRpc ?? '',
  }
  await start(net, `${name}-init`, gethInit(files)).exited
  const joined = {
    options,
    geth: start(net, `${name}-geth`, geth(options)),
    node: start(net, `${name}-node`, rollupNode(options)),
    rollup: client(`http://127.0.0.1:${ports.rollupRpc}`),
    eth: client(`http://127.0.0.1:${ports.ethRpc}`),
  }
  await until(async () => (await connected(joined.rollup)) === 1)
  return joined
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

/** Milliseconds until all have the same newest block. */
async function oneHead(lead: RpcClient, others: readonly RpcClient[]): Promise<number> {
  const startMs = performance.now()
  await until(async () => new Set((await Promise.all([lead, ...others].map(head))).map(({ hash }) => hash)).size === 1)
  return Math.round(performance.now() - startMs)
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`did not happen within two minutes: ${condition}`)
    await delay(20)
  }
}
