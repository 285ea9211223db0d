import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isErrno } from '../../src/lib/errors.ts'
import type { Figures } from './figures.ts'

const run = promisify(execFile)

/** The rival's size counts only the payload. A signature and the snappy frame are added. */
const MESSAGE_OVERHEAD_BYTES = 71

export interface Rival {
  path: string
  remove(): Promise<void>
}

/** Builds gossip-go into a temporary folder. A text result is the reason why it is not available. */
export async function buildRival(sources: string): Promise<Rival | string> {
  const folder = await mkdtemp(join(tmpdir(), 'devium-gossip-go-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'gossip-go')
  try {
    await run('go', ['build', '-buildvcs=false', '-o', path, '.'], { cwd: sources })
    return { path, remove }
  } catch (error) {
    await remove()
    if (isErrno(error, 'ENOENT')) return `neither go nor ${sources} is here`
    return `go build failed: ${error instanceof Error ? error.message : String(error)}`
  }
}

export interface RivalOptions {
  hosts: number
  size: number
  blocks: number
  intervalMs: number
  dial: number
  waitMs: number
}

export function rivalArguments(options: RivalOptions): string[] {
  const { hosts, blocks, intervalMs, dial, waitMs } = options
  const size = options.size - MESSAGE_OVERHEAD_BYTES
  return Object.entries({ hosts, size, blocks, interval: `${intervalMs}ms`, dial, wait: `${waitMs}ms` }).flatMap(
    ([name, value]) => [`-${name}`, String(value)],
  )
}

export async function runRival(rival: Rival, options: RivalOptions): Promise<Figures> {
  const { stdout } = await run(rival.path, rivalArguments(options))
  return rivalFigures(stdout)
}

/** Parses its last line. */
export function rivalFigures(output: string): Figures {
  const json: {
    p50Ms: number
    p90Ms: number
    p99Ms: number
    maxMs: number
    missed: number
    cpuMsPerBlock: number
    bytesPerBlockPerHost: number
  } = JSON.parse(output.trim().split('\n').at(-1) ?? '')
  return {
    p50: json.p50Ms,
    p90: json.p90Ms,
    p99: json.p99Ms,
    max: json.maxMs,
    missed: json.missed,
    cpuPerBlock: json.cpuMsPerBlock,
    bytesPerBlockAndHost: json.bytesPerBlockPerHost,
  }
}
