import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { claimPort } from '../../test/support/programs.ts'

export interface OpGeth {
  engineUrl: string
  jwtPath: string
  /** A program that ends with it. */
  start(program: string, args: string[]): ChildProcess
}

/**
 * For op-geth in all runs alike, such as --history.logs.disable: its index of logs takes two thirds of its processor time, whoever
 * gives it blocks.
 */
const EXTRA_FLAGS = process.env.DEVIUM_OP_GETH_FLAGS?.split(' ').filter((flag) => flag !== '') ?? []

/** Ticks of processor time (10 ms on Linux) in half a second, at most, of a process that has nothing to do. */
const IDLE_TICKS = 5

/** Runs a new op-geth of a genesis while `use` runs: from when it has done what it does at its start (KZG tables: seconds of all processors). */
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
    const answers = asker(`http://127.0.0.1:${http}`, 'eth_chainId')
    await until(answers.ask)
    await answers.close()
    await idle(geth)
    return await use({ engineUrl: `http://127.0.0.1:${engine}`, jwtPath, start })
  } finally {
    for (const child of processes.reverse()) await end(child)
  }
}

/** Asks an endpoint that may not be there yet: undefined then. */
export function asker(url: string, method: string): { ask(): Promise<unknown>; close(): Promise<void> } {
  const rpc = createRpcClient({ url, timeoutMs: 2_000 })
  return { ask: () => rpc.request(method, []).catch(() => undefined), close: () => rpc.close() }
}

async function idle({ pid }: ChildProcess): Promise<void> {
  const path = `/proc/${pid}/stat`
  if (!existsSync(path)) return
  for (let before = Number.NaN; ; ) {
    // proc(5): user and system time are the 14th and 15th field, the second is a name in brackets.
    const fields = readFileSync(path, 'utf8').split(') ')[1]?.split(' ') ?? []
    const ticks = Number(fields[11]) + Number(fields[12])
    if (ticks - before <= IDLE_TICKS) return
    before = ticks
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
