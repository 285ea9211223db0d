import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** With nothing fetched and nothing compiled yet it takes two minutes on two cores. */
export const BUILD_TIMEOUT_MS = 360_000

export type PeerBinary = { path: string } | { skip: string }

export interface BuildFault {
  code: unknown
  killed: boolean
  output: string
}

export interface PeerBuild {
  name: string
  /** Folder of the sources, with whatever names their dependencies. */
  sources: string
  /** Makes the program at `target`; `folder` is there for what else it makes. */
  build(target: string, folder: string): Promise<BuildFault | undefined>
  /** Why the program cannot be had here. Throws where that is the program's own fault. */
  skipReason(fault: BuildFault): string
}

/** Builds a program once for each state of its sources, into the system's folder for temporary files. */
export async function buildOnce({ name, sources, build, skipReason }: PeerBuild): Promise<PeerBinary> {
  const hash = createHash('sha256')
  for (const entry of readdirSync(sources, { withFileTypes: true, recursive: true }).sort(byPath)) {
    if (entry.isFile()) hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)))
  }
  const folder = join(tmpdir(), `devium-${name}`)
  const path = join(folder, `${name}-${hash.digest('hex').slice(0, 16)}`)
  mkdirSync(folder, { recursive: true })
  let hasWaited = false
  while (!existsSync(path)) {
    // Test files run beside each other, and one at a time is to compile.
    if (!lock(`${path}.lock`)) {
      hasWaited ||= isHeld(`${path}.lock`)
      await new Promise((resolve) => setTimeout(resolve, 200))
      continue
    }
    try {
      // One after the other would take longer than a test file may.
      if (hasWaited) return { skip: 'another test file has tried to build it in vain' }
      const fault = await build(`${path}.draft`, folder)
      if (fault === undefined) renameSync(`${path}.draft`, path)
      else return { skip: skipReason(fault) }
    } finally {
      rmSync(`${path}.lock`)
    }
  }
  return { path }
}

/** Runs a compiler; what it says where it fails. */
export function runCompiler(
  command: string,
  args: string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<BuildFault | undefined> {
  const limits = { timeout: BUILD_TIMEOUT_MS, killSignal: 'SIGKILL' as const }
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env: { ...process.env, ...env }, ...limits }, (error, stdout, stderr) => {
      if (error === null) resolve(undefined)
      else resolve({ code: error.code, killed: error.killed === true, output: `${stdout}${stderr}` })
    })
  })
}

/** What holds for every compiler; undefined where it is none of that. */
export function usualSkipReason(compiler: string, { code, killed }: BuildFault): string | undefined {
  if (code === 'ENOENT') return `${compiler} is not installed`
  return killed ? `building took more than ${BUILD_TIMEOUT_MS / 1000} s` : undefined
}

function byPath(a: { parentPath: string; name: string }, b: { parentPath: string; name: string }): number {
  return join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1
}

/** False while another living process has it. */
function lock(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (!isHeld(path)) rmSync(path, { force: true })
    return false
  }
}

function isHeld(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0)
    return true
  } catch {
    return false
  }
}
