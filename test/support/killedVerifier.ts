import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectTo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { claimPort } from './programs.ts'
import { type RunningTestnet, startTestnet } from './testnet.ts'

const bin = (name: string) => fileURLToPath(new URL(`../../bin/${name}.mjs`, import.meta.url))
const NODE_FLAGS = ['--disable-warning=ExperimentalWarning']

export interface KillReport {
  kills: number
  /** Number of kills below the height that the sync had to reach. */
  killsDuringSync: number
  /** Height of the chain at each kill. */
  heights: number[]
  /** Height up to which all blocks were compared. */
  compared: number
  /** Blocks that differ from the sequencer's chain. */
  differing: number[]
  /** Entries of the safe-head database with a block that is not in the chain, or an L1 block that is not on L1. */
  wrongEntries: number[]
  blobs: number
  seconds: number
}

/**
 * Lets a testnet post its chain in blobs until it is `blocks` high. Then syncs a verifier without peers from genesis, kills it
 * `kills` times with SIGKILL, every fifth time with its engine, and compares the chain.
 */
export async function syncUnderKills({ kills, blocks }: { kills: number; blocks: number }): Promise<KillReport> {
  const startedAt = performance.now()
  const directory = mkdtempSync(join(tmpdir(), 'devium-kills-'))
  await using opened = new AsyncDisposableStack()
  opened.defer(() => rmSync(directory, { recursive: true, force: true }))
  const testnet = await startTestnet({
    dir: join(directory, 'net'),
    nodes: 1,
    args: ['--da', 'blobs', '--l1-block-time', '1'],
  })
  opened.defer(async () => void (await testnet.stop()))
  const clients: RpcClient[] = []
  opened.defer(async () => void (await Promise.all(clients.map((client) => client.close()))))
  const connect = (url: string) => {
    const client = createPatientClient({ url })
    clients.push(client)
    return client
  }
  const sequencer = connect(testnet.nodes[0]?.rollupRpc ?? '')
  const sequencerEth = connect(testnet.nodes[0]?.ethRpc ?? '')
  const l1 = connect(testnet.l1.rpc)
  await untilReached(blocks, () => safeHead(sequencer))

  const verifier = await VerifierProcesses.create(testnet, directory)
  opened.defer(() => verifier.stop())
  const rollup = connect(verifier.rollupRpc)
  const eth = connect(verifier.ethRpc)
  const report = { kills: 0, killsDuringSync: 0, heights: [] as number[] }
  for (; report.kills < kills; report.kills++) {
    await verifier.start()
    // Each start gets further than the last one.
    const best = Math.min(blocks, report.heights.at(-1) ?? 0)
    const goesOn = await Promise.race([
      until(async () => (await heightOf(rollup)) >= Math.min(best + 1, blocks)).then(() => true),
      verifier.nodeEnded.then(() => false),
    ])
    if (!goesOn) throw new Error(`the verifier ended by itself: ${verifier.lastLines()}`)
    // At any point of the work: building a block, writing, or waiting for L1.
    await delay((report.kills * 7) % 20)
    const height = await heightOf(rollup)
    report.heights.push(height)
    if (height < blocks) report.killsDuringSync++
    await verifier.kill({ engineToo: report.kills % 5 === 4 })
  }
  await verifier.start()
  const target = await safeHead(sequencer)
  await untilReached(target, () => safeHead(rollup))

  const differing: number[] = []
  for (let number = 0; number <= target; number++) {
    const [ours, theirs] = await Promise.all([blockHash(eth, number), blockHash(sequencerEth, number)])
    if (ours !== theirs) differing.push(number)
  }
  const { wrongEntries, blobs } = await checkEntries(rollup, eth, l1)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  return { ...report, compared: target, differing, wrongEntries, blobs, seconds }
}

/** Checks the database's entry of each L1 block, and counts blobs. */
async function checkEntries(rollup: RpcClient, eth: RpcClient, l1: RpcClient) {
  const wrongEntries: number[] = []
  let blobs = 0
  const head = Number(memberOf(await l1.request('eth_getBlockByNumber', ['latest', false]), 'number'))
  let previous = -1
  for (let number = 0; number <= head; number++) {
    const block = await l1.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
    blobs += Number(memberOf(block, 'blobGasUsed') ?? 0) / 131_072
    const entry = await rollup.request('optimism_safeHeadAtL1Block', [`0x${number.toString(16)}`])
    const l1Block = memberOf(entry, 'l1Block')
    const safe = memberOf(entry, 'safeHead')
    const height = Number(memberOf(safe, 'number'))
    const isRight =
      height >= previous &&
      (await blockHash(eth, height)) === memberOf(safe, 'hash') &&
      (await blockHash(l1, Number(memberOf(l1Block, 'number')))) === memberOf(l1Block, 'hash')
    if (!isRight) wrongEntries.push(number)
    previous = height
  }
  return { wrongEntries, blobs }
}

/** A separate execution client and rollup node on the testnet's L1, with fixed ports. */
class VerifierProcesses {
  private readonly paths: Record<'data' | 'jwt' | 'safeDb' | 'genesis' | 'rollup' | 'l1Config', string>
  private readonly ports: Record<'eth' | 'engine' | 'rollup', number>
  private readonly l1Rpc: string
  private geth: ChildProcess | undefined
  private node: ChildProcess | undefined
  private output = ''
  nodeEnded: Promise<unknown> = Promise.resolve()

  private constructor(
    paths: VerifierProcesses['paths'],
    ports: VerifierProcesses['ports'],
    { l1 }: Pick<RunningTestnet, 'l1'>,
  ) {
    this.paths = paths
    this.ports = ports
    this.l1Rpc = l1.rpc
  }

  static async create(testnet: RunningTestnet, directory: string): Promise<VerifierProcesses> {
    const own = (name: string) => join(directory, 'verifier', name)
    const joined = (name: string) => join(testnet.joinDir, name)
    const verifier = new VerifierProcesses(
      {
        data: own('data'),
        jwt: own('jwt.txt'),
        safeDb: own('safe-heads'),
        genesis: joined('genesis.json'),
        rollup: joined('rollup.json'),
        l1Config: joined('l1.json'),
      },
      { eth: await claimPort(), engine: await claimPort(), rollup: await claimPort() },
      testnet,
    )
    const init = spawnProgram('devium-geth', ['init', '--datadir', verifier.paths.data, verifier.paths.genesis])
    const [code] = await once(init, 'exit')
    if (code !== 0) throw new Error(`devium-geth init ended with ${code}`)
    return verifier
  }

  get rollupRpc(): string {
    return `http://127.0.0.1:${this.ports.rollup}`
  }

  get ethRpc(): string {
    return `http://127.0.0.1:${this.ports.eth}`
  }

  async start(): Promise<void> {
    const { paths, ports } = this
    this.geth ??= spawnProgram('devium-geth', [
      `--datadir=${paths.data}`,
      '--http',
      `--http.port=${ports.eth}`,
      `--authrpc.port=${ports.engine}`,
      `--authrpc.jwtsecret=${paths.jwt}`,
    ])
    // A node stops after ten seconds without an engine. A busy machine may take as long to start one.
    await untilListening(ports.engine)
    this.output = ''
    const node = spawnProgram('devium--batcher', [
      `--l1=${this.l1Rpc}`,
      `--l1.beacon=${this.l1Rpc}`,
      '--l1.beacon.ignore',
      '--l1.trustrpc',
      '--l1.http-poll-interval=500ms',
      '--l1.epoch-poll-interval=2s',
      `--rollup.l1-chain-config=${paths.l1Config}`,
      `--rollup.config=${paths.rollup}`,
      `--l2=http://127.0.0.1:${ports.engine}`,
      `--l2.jwt-secret=${paths.jwt}`,
      `--safedb.path=${paths.safeDb}`,
      `--rpc.port=${ports.rollup}`,
      '--p2p.disable',
    ])
    for (const stream of [node.stdout, node.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output = (this.output + chunk).slice(-4000)
      })
    }
    this.nodeEnded = once(node, 'exit')
    this.node = node
  }

  lastLines(): string {
    return this.output
  }

  async kill({ engineToo }: { engineToo: boolean }): Promise<void> {
    const killed = [this.node, ...(engineToo ? [this.geth] : [])].filter((child) => child !== undefined)
    await Promise.all(killed.map((child) => end(child, 'SIGKILL')))
    this.node = undefined
    if (engineToo) this.geth = undefined
  }

  async stop(): Promise<void> {
    if (this.node !== undefined) await end(this.node, 'SIGKILL')
    if (this.geth !== undefined) await end(this.geth, 'SIGKILL')
  }
}

async function untilListening(port: number): Promise<void> {
  const isListening = async () => {
    const socket = connectTo(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    return isOpen
  }
  await until(isListening)
}

function spawnProgram(name: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [...NODE_FLAGS, bin(name), ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout?.resume()
  child.stderr?.resume()
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  child.once('exit', () => process.off('exit', killAtExit))
  return child
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

async function safeHead(rollup: RpcClient): Promise<number> {
  return Number(memberOf(memberOf(await rollup.request('optimism_syncStatus', []), 'safe_l2'), 'number'))
}

async function heightOf(rollup: RpcClient): Promise<number> {
  return Number(memberOf(memberOf(await rollup.request('optimism_syncStatus', []), 'unsafe_l2'), 'number'))
}

async function blockHash(eth: RpcClient, number: number): Promise<unknown> {
  return memberOf(await eth.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]), 'hash')
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/** Waits for each block separately, because a whole chain may exceed the limit of one wait. */
async function untilReached(target: number, height: () => Promise<number>): Promise<void> {
  for (let best = -1; best < target; ) {
    const last = best
    best = await until(async () => {
      const now = await height()
      return now > last && now
    })
  }
}
