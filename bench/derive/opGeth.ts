import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { claimPort } from '../../test/support/programs.ts'
import { processorSeconds } from '../processStats.ts'

export interface OpGeth {
  engineUrl: string
  jwtPath: string
  /** Starts a program that is stopped with it. */
  start(program: string, args: string[]): ChildProcess
}

/**
 * Flags of op-geth in all runs, such as --history.logs.disable. Its log index takes two thirds of its processor time, whichever
 * node drives it.
 */
const EXTRA_FLAGS = process.env.DEVIUM_OP_GETH_FLAGS?.split(' ').filter((flag) => flag !== '') ?? []

/** Maximum processor time of an idle process in half a second. */
const IDLE_SECONDS = 0.05

/**
 * Runs a new op-geth on a genesis while `use` runs. `use` starts after op-geth's own start work, seconds of all processors for
 * KZG tables.
 */
export async function withOpGeth<T>(binary: string, directory: string, use: (geth: OpGeth) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(directory, 'run-'))
  const processes: ChildProcess[] = []
  const start = (program: string, args: string[]) => {
    const child = spawn(program, args, { stdio: 'ignore', cwd: folder })
    processes.push(child)
    return child
  }
  try {
    const [engine, http] = [await claimPort(), await claimPort()]
    const jwtPath = join(folder, 'jwt.txt')
    writeFileSync(jwtPath, randomBytes(32).toString('hex'), { mode: 0o600 })
    const datadir = join(folder, 'geth')
    const genesisPath = join(directory, 'genesis.json')
    execFileSync(binary, ['init', '--state.scheme=hash', `--datadir=${datadir}`, genesisPath], { stdio: 'ignore' })
    const geth = start(binary, [
      `--datadir=${datadir}`,
      '--http',
      `--http.port=${http}`,
      `--authrpc.port=${engine}`,
      `--authrpc.jwtsecret=${jwtPath}`,
      '--port=0',
      '--nodiscover',
      '--maxpeers=0',
      '--syncmode=full',
      '--gcmode=archive',
      '--nat=none',
      '--ipcdisable',
      ...EXTRA_FLAGS,
    ])
    const answers = createProbe(`http://127.0.0.1:${http}`, 'eth_chainId')
    await until(answers.request)
    await answers.close()
    await idle(geth)
    return await use({ engineUrl: `http://127.0.0.1:${engine}`, jwtPath, start })
  } finally {
    for (const child of processes.reverse()) await end(child)
  }
}

/** Queries an endpoint that may not be up yet; undefined in that case. */
export function createProbe(url: string, method: string): { request(): Promise<unknown>; close(): Promise<void> } {
  const rpc = createRpcClient({ url, timeoutMs: 2_000 })
  return { request: () => rpc.request(method, []).catch(() => undefined), close: () => rpc.close() }
}

async function idle({ pid = Number.NaN }: ChildProcess): Promise<void> {
  for (let before = Number.NEGATIVE_INFINITY; ; ) {
    const seconds = processorSeconds(pid)
    // NaN if there is no /proc.
    if (!(seconds - before > IDLE_SECONDS)) return
    before = seconds
    await wait(500)
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(force)
}
