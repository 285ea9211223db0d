import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { toQuantity } from '../../src/lib/hex.ts'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import { findAnvil } from '../../testnet/l1/anvil.ts'

export interface AnvilOptions {
  /** Seconds between blocks. Absent: a block for each transaction, and for each `evm_mine`. */
  blockTime?: number
  /** Anvil's name of the L1 fork, for example `cancun` or `prague`. */
  hardfork?: string
  /** Further flags. A `--port` replaces the free port that is used otherwise. */
  args?: readonly string[]
}

export interface Anvil {
  /** http://127.0.0.1:port */
  url: string
  process: ChildProcess
  /** Stops the process and waits for its end. */
  stop(): Promise<void>
}

const LEASHED_BINARY = fileURLToPath(new URL('../../testnet/process/leashedBinary.mjs', import.meta.url))

/** Starts a local L1 and resolves when it listens. Anvil ends with the test run. */
export function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  return start(findAnvil(), options)
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
    const force = setTimeout(() => child.kill('SIGKILL'), WAIT_LIMIT_MS)
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
  /** Returns it for the next lease, unless it has ended. */
  release(): void
}

/** Unused instances of this worker, by options. */
const idle = new Map<string, Anvil[]>()

/**
 * A local L1 at its genesis block, which another test of this worker may have used. A start takes 150 ms, the first blob of a
 * process takes seconds, and a reset takes a few milliseconds.
 */
export async function leaseAnvil(options: AnvilOptions = {}): Promise<LeasedAnvil> {
  const key = JSON.stringify(options)
  const used = idle.get(key)?.pop()
  // A worker that ends closes its pipes, and sends no other signal.
  const anvil = used ?? (await start(process.execPath, options, [LEASHED_BINARY, findAnvil()]))
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
 * Resets to the genesis block, with an empty pool, the real time and a block for each transaction. Anvil uses the last gas limit
 * and base fee for the new genesis block.
 */
async function reset({ url }: Anvil): Promise<void> {
  const rpc = createPatientClient({ url })
  try {
    // One after the other: Anvil runs the calls of a batch side by side.
    await rpc.request('evm_setBlockGasLimit', [toQuantity(30_000_000)])
    await rpc.request('anvil_setNextBlockBaseFeePerGas', [toQuantity(1_000_000_000)])
    await rpc.request('anvil_reset', [])
    await rpc.request('evm_setAutomine', [true])
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
      // Continues to read, because a full pipe would stop Anvil, but keeps nothing.
      child.stdout?.off('data', onData).resume()
      child.stderr?.off('data', onData).resume()
    }
    child.stdout?.on('data', onData)
    child.stderr?.on('data', onData)
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code, signal) => fail(`ended (${signal ?? code})`))
  })
}
