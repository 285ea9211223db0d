import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { toQuantity } from '../../src/lib/hex.ts'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'

export interface AnvilOptions {
  /** Seconds between blocks; without it a block is mined for each transaction (and by `evm_mine`). */
  blockTime?: number
  /** Anvil's name of the L1 fork, for example `cancun` or `prague`. */
  hardfork?: string
  /** Further flags, passed as they are; `--port` among them replaces the free port that is taken otherwise. */
  args?: readonly string[]
}

export interface Anvil {
  /** http://127.0.0.1:port */
  url: string
  process: ChildProcess
  /** Ends the process and waits until it is gone. */
  stop(): Promise<void>
}

const LEASHED_BINARY = fileURLToPath(new URL('../../testnet/process/leashedBinary.mjs', import.meta.url))

/** The native binary itself: the npm wrapper would cost a second Node process and swallow signals. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url)
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`
  const file = process.platform === 'win32' ? 'anvil.exe' : 'anvil'
  const path = join(dirname(require.resolve(`${name}/package.json`)), 'bin', file)
  if (!existsSync(path)) throw new Error(`Anvil is not installed: ${path} is missing`)
  return path
}

/** Starts a local L1 and resolves when it listens. A test run that ends early takes Anvil with it. */
export function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  return start(anvilBinary(), options)
}

async function start(command: string, options: AnvilOptions, before: readonly string[] = []): Promise<Anvil> {
  const args = [...before, '--host', '127.0.0.1']
  if (!options.args?.includes('--port')) args.push('--port', '0')
  if (options.blockTime !== undefined) args.push('--block-time', String(options.blockTime))
  if (options.hardfork !== undefined) args.push('--hardfork', options.hardfork)
  args.push(...(options.args ?? []))
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  exited.then(() => process.off('exit', killAtExit))
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
    await exited
    clearTimeout(force)
  }
  try {
    return { url: await listeningUrl(child), process: child, stop }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

export interface LeasedAnvil extends Anvil {
  /** Gives it to whoever asks next, unless it has ended. */
  release(): void
}

/** Those of this worker that nobody uses, by their options. */
const idle = new Map<string, Anvil[]>()

/**
 * A local L1 at its genesis block, which another test of this worker may have used. A start takes 150 ms, the first blob
 * of a process seconds, a reset one millisecond.
 */
export async function leaseAnvil(options: AnvilOptions = {}): Promise<LeasedAnvil> {
  const key = JSON.stringify(options)
  const used = idle.get(key)?.pop()
  // The end of a worker closes its pipes, and says nothing else.
  const anvil = used ?? (await start(process.execPath, options, [LEASHED_BINARY, anvilBinary()]))
  if (used !== undefined) await reset(used)
  return {
    ...anvil,
    release() {
      if (anvil.process.exitCode !== null || anvil.process.signalCode !== null) return
      idle.set(key, [...(idle.get(key) ?? []), anvil])
    },
  }
}

/**
 * Back to the genesis block, with an empty pool, the real time and a block for each transaction. Anvil gives the new
 * genesis block the gas limit and the base fee that were set last.
 */
async function reset({ url }: Anvil): Promise<void> {
  const rpc = createRpcClient({ url })
  try {
    await rpc.batch([
      { method: 'evm_setBlockGasLimit', params: [toQuantity(30_000_000)] },
      { method: 'anvil_setNextBlockBaseFeePerGas', params: [toQuantity(1_000_000_000)] },
      { method: 'anvil_reset', params: [] },
      { method: 'evm_setAutomine', params: [true] },
    ])
  } finally {
    await rpc.close()
  }
}

function listeningUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => fail('did not listen in time'), WAIT_LIMIT_MS)
    const fail = (why: string) => {
      clearTimeout(timer)
      reject(new Error(`Anvil ${why}: ${output.slice(-2000)}`))
    }
    const onData = (chunk: Buffer) => {
      if (output.length > 1_000_000) return
      output += chunk.toString()
      const match = /Listening on (\S+:\d+)/.exec(output)
      if (match?.[1] === undefined) return
      clearTimeout(timer)
      resolve(`http://${match[1]}`)
      // Reading goes on (a full pipe would stop Anvil), but nothing is kept.
      child.stdout?.off('data', onData).resume()
      child.stderr?.off('data', onData).resume()
    }
    child.stdout?.on('data', onData)
    child.stderr?.on('data', onData)
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code, signal) => fail(`ended (${signal ?? code})`))
  })
}
