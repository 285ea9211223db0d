import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { blocksOfChannel, channelsOf, readPostedFrames } from '../../src/batcher/testUtils/l1Batches.ts'
import { signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import type { RequestOptions, RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import { parseRollupConfig } from '../../src/rollup/protocol/index.ts'
import type { RollupConfig } from '../../src/rollup/protocol/types.ts'
import { roles } from '../../testnet/accounts.ts'
import { type RunningTestnet, startTestnet } from './testnet.ts'

const BIN = fileURLToPath(new URL('../../bin/devium-batch-submitter.mjs', import.meta.url))

export interface SyncHeads {
  safe: { number: number; hash: Hex }
  unsafe: { number: number; hash: Hex }
  /** The L1 block that the node derives from. */
  l1: number
}

/** A channel on L1, with the numbers of its blocks. */
export interface PostedChannel {
  l1Block: number
  blocks: number[]
}

export interface SequencerUrls {
  rollupRpc: string
  ethRpc: string
}

export interface SubmitterChainOptions {
  l1BlockTime: number
  /** Further flags of the testnet. */
  args?: readonly string[]
  /** Makes another node the sequencer. Absent: the testnet's own node remains. */
  handOver?: (testnet: RunningTestnet) => Promise<SequencerUrls>
}

/** A sequencer on Anvil under load. Its own batch submitter is idle, and the test starts others. */
export class SubmitterChain {
  readonly testnet: RunningTestnet
  readonly l1: RpcClient
  readonly rollup: RpcClient
  readonly eth: RpcClient
  readonly config: RollupConfig
  private readonly programs: SubmitterProcess[] = []
  private readonly stopping = new AbortController()
  private load: Promise<void> = Promise.resolve()

  private constructor(testnet: RunningTestnet, config: RollupConfig, sequencer: SequencerUrls) {
    this.testnet = testnet
    this.config = config
    this.l1 = createPatientClient({ url: testnet.l1.rpc })
    this.rollup = createPatientClient({ url: sequencer.rollupRpc })
    this.eth = createPatientClient({ url: sequencer.ethRpc })
  }

  static async start({ l1BlockTime, args = [], handOver }: SubmitterChainOptions): Promise<SubmitterChain> {
    const testnet = await startTestnet({ nodes: 1, args: ['--l1-block-time', String(l1BlockTime), ...args] })
    const config = parseRollupConfig(JSON.parse(readFileSync(join(testnet.joinDir, 'rollup.json'), 'utf8')))
    const [ours] = testnet.nodes
    if (ours === undefined) throw new Error('the testnet has no node')
    const admin = createPatientClient({ url: testnet.batcher.adminRpc })
    await admin.request('admin_stopBatcher', [])
    await admin.close()
    return new SubmitterChain(testnet, config, handOver === undefined ? ours : await handOver(testnet))
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.load
    for (const program of this.programs) await program.end('SIGKILL')
    await Promise.all([this.l1, this.rollup, this.eth].map((client) => client.close()))
    await this.testnet.stop()
  }

  /** Sends transactions with incompressible random data until the chain stops. */
  startLoad({ bytesPerSecond }: { bytesPerSecond: number }): void {
    this.load = this.sendLoad(bytesPerSecond)
  }

  startSubmitter(args: readonly string[], { l1Url = this.testnet.l1.rpc }: { l1Url?: string } = {}): SubmitterProcess {
    const program = new SubmitterProcess([
      `--l1-eth-rpc=${l1Url}`,
      `--l2-eth-rpc=${this.eth.url}`,
      `--rollup-rpc=${this.rollup.url}`,
      '--rpc.port=0',
      '--rpc.enable-admin',
      '--log.format=json',
      ...args,
    ])
    this.programs.push(program)
    return program
  }

  async heads(): Promise<SyncHeads> {
    const status = (await this.rollup.request('optimism_syncStatus', [])) as {
      safe_l2: { number: number; hash: Hex }
      unsafe_l2: { number: number; hash: Hex }
      current_l1: { number: number }
    }
    return { safe: status.safe_l2, unsafe: status.unsafe_l2, l1: status.current_l1.number }
  }

  async blockHash(number: number): Promise<unknown> {
    const block = await this.eth.request('eth_getBlockByNumber', [toQuantity(number), false])
    return typeof block === 'object' && block !== null && 'hash' in block ? block.hash : undefined
  }

  /** Number of the submitter's transactions in L1's pool. */
  async poolCount(): Promise<number> {
    const count = async (tag: string) =>
      Number(await this.l1.request('eth_getTransactionCount', [roles.batcher.address, tag]))
    return (await count('pending')) - (await count('latest'))
  }

  /** The channels on L1, in order. */
  async postedChannels(): Promise<PostedChannel[]> {
    const { config } = this
    const frames = await readPostedFrames(this.l1, config, roles.batcher.address)
    const channels = channelsOf(frames).map(async ({ data, l1Block }) => {
      const posted = await blocksOfChannel(data, config)
      return {
        l1Block,
        blocks: posted.map(({ timestamp }) => (timestamp - config.genesis.l2Time) / config.blockTime),
      }
    })
    return Promise.all(channels)
  }

  private async sendLoad(bytesPerSecond: number): Promise<void> {
    const { signal } = this.stopping
    const senders = this.testnet.accounts.map(({ address, privateKey }) => ({ address, key: fromHex(privateKey) }))
    while (!signal.aborted) {
      for (const { address, key } of senders) {
        // The load ignores L2 reorgs and refused transactions, and continues from the node's state.
        await this.sendData(address, key, Math.ceil(bytesPerSecond / senders.length)).catch(() => {})
        await delay(1_000 / senders.length, undefined, { signal }).catch(() => {})
        if (signal.aborted) return
      }
    }
  }

  private async sendData(address: Hex, key: Uint8Array, bytes: number): Promise<void> {
    const { raw } = signTransaction(key, {
      chainId: this.config.l2ChainId,
      nonce: Number(await this.eth.request('eth_getTransactionCount', [address, 'pending'])),
      to: address,
      maxFeePerGas: 10_000_000_000n,
      gasLimit: 100_000n + BigInt(40 * bytes),
      data: new Uint8Array(randomBytes(bytes)),
    })
    await this.eth.request('eth_sendRawTransaction', [toHex(raw)])
  }
}

/** A real devium-batch-submitter with the testnet's key. */
export class SubmitterProcess {
  private readonly child: ChildProcess
  /** The latest lines of its log. */
  readonly lines: string[] = []
  readonly errors: string[] = []
  /** Called with each line of log. */
  readonly listeners = new Set<(line: string) => void>()
  readonly exited: Promise<number | null>
  /** Address of its admin RPC, once it listens; undefined if it ended before. */
  readonly up: Promise<string | undefined>

  constructor(args: readonly string[]) {
    const env = { PATH: process.env.PATH ?? '', DEVIUM_BATCH_SUBMITTER_PRIVATE_KEY: roles.batcher.privateKey }
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const killAtExit = () => child.kill('SIGKILL')
    process.once('exit', killAtExit)
    this.child = child
    this.exited = once(child, 'exit').then(([code]) => code as number | null)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    this.up = promise
    this.exited.then(() => {
      process.off('exit', killAtExit)
      resolve(undefined)
    })
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line)
        for (const listener of this.listeners) listener(line)
        if (this.lines.length > 2_000) this.lines.shift()
        if (/"lvl":"(error|crit)"/.test(line)) this.errors.push(line)
        const url = /"msg":"Batch submitter started".*"rpc":"([^"]+)"/.exec(line)?.[1]
        if (url !== undefined) resolve(url)
      })
    }
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** Calls its admin RPC. */
  async request(method: string, params: readonly unknown[] = [], options: RequestOptions = {}): Promise<unknown> {
    const url = await this.up
    if (url === undefined) throw new Error(`the submitter has ended: ${this.lines.slice(-5).join('\n')}`)
    const client = createPatientClient({ url })
    try {
      return await client.request(method, params, options)
    } finally {
      await client.close()
    }
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.isRunning) this.child.kill(signal)
    await this.exited
  }
}

/** Checks the order of blocks: `gaps` are blocks whose predecessor is missing, and `repeated` are channels that repeat others. */
export function judgeOrder(channels: readonly PostedChannel[]): { gaps: number[]; repeated: number } {
  const gaps: number[] = []
  let repeated = 0
  let last = 0
  for (const { blocks } of channels) {
    const [first = 0] = blocks
    if (first > last + 1 || blocks.some((number, index) => number !== first + index)) gaps.push(first)
    if (first <= last) repeated++
    last = Math.max(last, blocks.at(-1) ?? 0)
  }
  return { gaps, repeated }
}
