import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { launchOpGeth, type OpGeth } from '../../test/support/opGeth.ts'
import { stopProgram } from '../../test/support/programs.ts'
import { processorSeconds } from '../processStats.ts'

interface RivalGeth extends OpGeth {
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
export async function withOpGeth<T>(
  binary: string,
  directory: string,
  use: (geth: RivalGeth) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(directory, 'run-'))
  const processes: ChildProcess[] = []
  const start = (program: string, args: string[]) => {
    const child = spawn(program, args, { stdio: 'ignore', cwd: folder })
    processes.push(child)
    return child
  }
  try {
    const flags = ['--maxpeers=0', ...EXTRA_FLAGS]
    const geth = await launchOpGeth(binary, { directory: folder, genesis: join(directory, 'genesis.json'), flags })
    processes.push(geth.process)
    await idle(geth.process)
    return await use({ ...geth, start })
  } finally {
    for (const child of processes.reverse()) await stopProgram(child)
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
