import { spawn } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Clock, systemClock } from '../clock.ts'
import { nextTurn } from '../nextTurn.ts'
import { createFrameReader, frameOf } from './frames.ts'
import { READY } from './workLoop.ts'

/**
 * Another process of this program, for work that would hold the event loop, or that an addon does. A thread would be
 * lighter, but V8 and addons may take all threads along when one of them begins or ends (nodejs/node 64500). It does not
 * keep this one alive, and ends with it.
 */
export interface WorkProcess<Task> {
  /** `bytes` is not to change until the answer is there. */
  send(task: Task, bytes: Uint8Array): void
  /** Whether it keeps this process alive: for as long as somebody waits for an answer. */
  keepAlive(wanted: boolean): void
  /** Ends it at once, whatever it is at: it holds nothing that could be lost. Resolves when it has ended, with the reason. */
  kill(): Promise<string>
  /** Resolves when it has loaded what it needs, which takes as long as the machine is busy; never if it ends before. */
  readonly ready: Promise<void>
  /** Resolves when it has ended, with the reason: a moment later where a signal from outside has ended it. */
  readonly ended: Promise<string>
}

/**
 * systemd sends a signal to every process of a unit, and it ends this one while it loads. The program may get the signal
 * later: it is to hear of the signal first, and then starts no other process.
 */
const SIGNALS_FROM_OUTSIDE = ['SIGINT', 'SIGTERM', 'SIGHUP']
const HEARD_LATER_MS = 1_000

/** Written in one turn of the event loop: the system goes on for as long as the reader keeps up, 3 ms for each MB. */
const TURN_BYTES = 512 * 1024
/** Of what it complains at its end. */
const COMPLAINT_CHARACTERS = 400
/** All that Node and malloc need of the environment (bin/launch.mjs). The process gets nothing else, least of all secrets. */
const ENVIRONMENT = [
  ...['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SYSTEMROOT'],
  ...['MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_', 'MALLOC_TRIM_THRESHOLD_'],
]

export interface WorkProcessOptions {
  clock?: Pick<Clock, 'setTimeout'>
}

/** `file` calls `answerTasks` with what does the work. */
export function startWorkProcess<Task, Answer>(
  file: URL,
  onAnswer: (answer: Answer, bytes: Uint8Array) => void,
  { clock = systemClock }: WorkProcessOptions = {},
): WorkProcess<Task> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', fileURLToPath(file)], {
    env: leanEnvironment(),
    windowsHide: true,
    // What a terminal or an operator sends to the program's process group does not reach it, not even before it has loaded.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
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
  const ready = Promise.withResolvers<void>()
  const read = createFrameReader((value, bytes) => {
    if (value === READY) ready.resolve()
    // The other side is of the same version.
    else onAnswer(value as Answer, bytes)
  })
  // There are none when the process could not be started.
  const streams = child.stdio ?? []
  // What is wrong with them, its end tells.
  for (const stream of streams) stream?.on('error', () => {})
  const keepAlive = (wanted: boolean): void => {
    for (const part of [child, ...streams.filter((stream) => stream instanceof Socket)]) {
      if (wanted) part.ref()
      else part.unref()
    }
  }
  keepAlive(false)
  let written = Promise.resolve()
  child.stdout?.on('data', read)
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk.toString()}`.slice(0, COMPLAINT_CHARACTERS)
  })
  return {
    ready: ready.promise,
    ended: ended.promise,
    send(task, bytes) {
      written = written.then(() => writeInTurns(child.stdin, frameOf(task, bytes)))
    },
    keepAlive,
    kill() {
      keepAlive(true)
      child.kill('SIGKILL')
      return closed.promise
    },
  }
}

/** Ends early when the other side does. */
async function writeInTurns(stream: Writable | null, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length && stream?.writable; at += TURN_BYTES) {
      if (at > 0) await nextTurn()
      await new Promise((resolve) => stream.write(piece.subarray(at, at + TURN_BYTES), resolve))
    }
  }
}

/** For a process of this program. */
export function leanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(ENVIRONMENT.map((name) => [name, process.env[name]]))
  const cache = getCompileCacheDir()
  // In which each version of Node has a folder of its own, the one that is named here.
  return { ...kept, NODE_COMPILE_CACHE: cache && dirname(cache) }
}
