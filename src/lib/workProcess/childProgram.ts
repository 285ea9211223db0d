import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../clock.ts'

/** A process of this program. Signals to the program's process group do not reach it, not even before it has loaded. */
export interface ChildProgram {
  child: ChildProcess
  /** Resolves when it has ended, with the reason. */
  closed: Promise<string>
  /** The same, a moment later where a signal from outside has ended it. */
  ended: Promise<string>
}

/**
 * systemd sends a signal to every process of a unit, and it ends this one while it loads. The program may get the signal
 * later: it is to hear of the signal first, and then starts no other process.
 */
const SIGNALS_FROM_OUTSIDE = ['SIGINT', 'SIGTERM', 'SIGHUP']
const HEARD_LATER_MS = 1_000
/** Of what it complains at its end. */
const COMPLAINT_CHARACTERS = 400
/** All that Node and malloc need of the environment (bin/launch.mjs). The process gets nothing else, least of all secrets. */
const ENVIRONMENT = [
  ...['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SYSTEMROOT'],
  ...['MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_', 'MALLOC_TRIM_THRESHOLD_'],
]

/** The third of `stdio`, standard error, is to be a pipe: its end says why it ended. */
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
  // There are none when the process could not be started. What is wrong with them, its end tells.
  for (const stream of child.stdio ?? []) stream?.on('error', () => {})
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk.toString()}`.slice(0, COMPLAINT_CHARACTERS)
  })
  return { child, closed: closed.promise, ended: ended.promise }
}

function leanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(ENVIRONMENT.map((name) => [name, process.env[name]]))
  const cache = getCompileCacheDir()
  // In which each version of Node has a folder of its own, the one that is named here.
  return { ...kept, NODE_COMPILE_CACHE: cache && dirname(cache) }
}
