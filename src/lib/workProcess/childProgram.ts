import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../clock.ts'

/** A child process of this program. Signals to the program's process group do not reach it, not even while it loads. */
export interface ChildProgram {
  child: ChildProcess
  /** Resolves with the reason when the process has ended. */
  closed: Promise<string>
  /** Like `closed`, but delayed if an external signal ended the process. */
  ended: Promise<string>
}

/**
 * systemd signals every process of a unit, and the signal ends this child process while it loads. The program may
 * receive its own signal later. It should handle its signal first, and then it starts no new process.
 */
const SIGNALS_FROM_OUTSIDE = ['SIGINT', 'SIGTERM', 'SIGHUP']
const HEARD_LATER_MS = 1_000
const COMPLAINT_CHARACTERS = 400
/** The environment variables that Node and malloc need (bin/launch.mjs). The process gets no others, so no secrets. */
const ENVIRONMENT = [
  ...['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SYSTEMROOT'],
  ...['MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_', 'MALLOC_TRIM_THRESHOLD_'],
]

/** The third entry of `stdio`, standard error, must be a pipe: its text becomes part of the reason. */
export function startChildProgram(
  file: URL,
  clock: Pick<Clock, 'setTimeout'>,
  { stdio, flags = [] }: { stdio: StdioOptions; flags?: readonly string[] },
): ChildProgram {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...flags, fileURLToPath(file)], {
    env: leanEnvironment(),
    windowsHide: true,
    detached: true,
    stdio,
    serialization: 'advanced',
  })
  let complaint = ''
  const closed = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<string>()
  child.once('error', (error) => {
    closed.resolve(error.message)
    ended.resolve(error.message)
  })
  child.once('close', (code, signal) => {
    const how = signal === null ? `ended with code ${code}` : `ended by ${signal}`
    const reason = `${how} ${complaint.replaceAll(/\s+/g, ' ')}`.trim()
    closed.resolve(reason)
    if (signal === null || !SIGNALS_FROM_OUTSIDE.includes(signal)) ended.resolve(reason)
    else clock.setTimeout(() => ended.resolve(reason), HEARD_LATER_MS)
  })
  // The streams are missing if the process could not be started. The reason of `closed` covers stream errors.
  for (const stream of child.stdio ?? []) stream?.on('error', () => {})
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk.toString()}`.slice(0, COMPLAINT_CHARACTERS)
  })
  return { child, closed: closed.promise, ended: ended.promise }
}

function leanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(ENVIRONMENT.map((name) => [name, process.env[name]]))
  const cache = getCompileCacheDir()
  // NODE_COMPILE_CACHE is the parent folder, in which each Node version has its own folder.
  return { ...kept, NODE_COMPILE_CACHE: cache && dirname(cache) }
}
