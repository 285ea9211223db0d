import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from '../../../src/lib/testUtils/until.ts'
import { isAlive } from '../processes.ts'

/** The receivers of SIGTERM. `docker stop` signals the first process, systemd signals every process of the unit. */
export type Reach = 'the first process' | 'every process'

/** The end of a program after SIGTERM. */
export interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
  /** Its log after the signal. */
  lines: string[]
  /** Titles of processes that started after the signal. */
  started: string[]
  /** Processes that survived the program. */
  left: number[]
  /** Ports that are still occupied afterwards. */
  heldPorts: number[]
  seconds: number
}

interface ListedProcess {
  pid: number
  parent: number
  /** Processor seconds. */
  seconds: number
  title: string
}

/** No state takes this long. The harness fails first. */
const LIMIT_MS = 100_000

export const bin = (program: string): string => fileURLToPath(new URL(`../../../bin/${program}.mjs`, import.meta.url))

/** Makes a launcher treat its own Node as too old. */
export const OLD_NODE = `
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })
  Object.defineProperty(process, 'execPath', { value: 'node' })`

export interface ProgramOptions {
  /** JavaScript that runs before the program. */
  preload?: string | undefined
  env?: Record<string, string>
}

/** A real program, started as by an operator, in its own process group. */
export class StoppedProgram {
  readonly lines: string[] = []
  private readonly child: ChildProcess
  /** Resolves with exit code and signal. */
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>
  private readonly waiting = new Set<() => void>()

  constructor(program: string, args: readonly string[], { preload, env = {} }: ProgramOptions = {}) {
    const launcher = preload === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', ...launcher, bin(program), ...args],
      { env: { PATH: process.env.PATH ?? '', ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    )
    this.child = child
    this.ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const killAtExit = () => this.kill()
    process.once('exit', killAtExit)
    void this.ended.then(() => {
      process.off('exit', killAtExit)
      this.notify()
    })
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line)
        this.notify()
      })
    }
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** Resolves with the first line of its log that matches. */
  async prints(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => pattern.test(line))
      if (found !== undefined) return found
      if (!this.isRunning) throw new Error(`ended before it printed ${pattern}:\n${this.lines.join('\n')}`)
      await new Promise<void>((resolve) => {
        this.waiting.add(resolve)
      })
    }
  }

  /** Resolves when it has a process with such a title. */
  async has(title: RegExp): Promise<void> {
    const hasOne = async () => (await this.processes()).some((listed) => title.test(listed.title))
    await until(`${title}`, async () => !this.isRunning || (await hasOne()))
    if (!this.isRunning) throw new Error(`ended without ${title}:\n${this.lines.join('\n')}`)
  }

  /** Resolves when a process with such a title has used another second of processor time. */
  async works(title: RegExp): Promise<void> {
    const worked = async () => {
      const found = (await this.processes()).find((listed) => title.test(listed.title))
      if (found === undefined) throw new Error(`there is no ${title}:\n${this.lines.join('\n')}`)
      return found.seconds
    }
    const before = await worked()
    await until(`work of ${title}`, async () => (await worked()) >= before + 1)
  }

  kill(): void {
    if (this.isRunning) process.kill(-this.pid, 'SIGKILL')
  }

  /** Kills the first process alone. Resolves with the other processes. */
  async killFirst(): Promise<number[]> {
    const others = await this.processes()
    this.child.kill('SIGKILL')
    await this.ended
    return others.map(({ pid }) => pid)
  }

  /** All descendants of the first process. */
  async processes(): Promise<ListedProcess[]> {
    const all = await listProcesses()
    const below = (parent: number): ListedProcess[] =>
      all.filter((listed) => listed.parent === parent).flatMap((listed) => [listed, ...below(listed.pid)])
    return below(this.pid)
  }

  /** Sends SIGTERM and waits until the program has ended or must be killed. */
  async stop(reach: Reach): Promise<Ending> {
    const before = await this.processes()
    const seen = new Map(before.map((listed) => [listed.pid, listed.title]))
    const written = this.lines.length
    const since = performance.now()
    process.kill(reach === 'every process' ? -this.pid : this.pid, 'SIGTERM')
    if (reach === 'every process') for (const { pid } of before) signalIfThere(pid)
    const cancelled = new AbortController()
    const timeout = delay(LIMIT_MS, undefined, { signal: cancelled.signal }).then(
      () => this.kill(),
      () => {},
    )
    const started = new Map<number, string>()
    const watching = (async () => {
      while (this.isRunning) {
        for (const { pid, title } of await this.processes()) if (!seen.has(pid)) started.set(pid, title)
        await delay(20)
      }
    })()
    const [code, signal] = await this.ended
    const seconds = (performance.now() - since) / 1000
    cancelled.abort()
    await Promise.all([timeout, watching])
    return {
      code,
      signal,
      lines: this.lines.slice(written),
      started: [...started.values()],
      left: [...seen.keys(), ...started.keys()].filter(isAlive),
      heldPorts: await this.heldPorts(),
      seconds,
    }
  }

  /** The ports of its log line that are still occupied. */
  async heldPorts(): Promise<number[]> {
    const said = this.lines.filter((line) => /"msg":"[^"]*(started|is up)"/.test(line)).join()
    const ports = [...said.matchAll(/127\.0\.0\.1(?::|\/tcp\/)(\d+)/g)].map(([, port]) => Number(port))
    const held = await Promise.all([...new Set(ports)].map(async (port) => ((await isFree(port)) ? [] : [port])))
    return held.flat()
  }

  private notify(): void {
    for (const resolve of this.waiting) resolve()
    this.waiting.clear()
  }
}

function signalIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // The process has ended with its group.
  }
}

async function listProcesses(): Promise<ListedProcess[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,ppid=,time=,args='])
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [, pid, parent, time = '', title = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
      const [minutes = 0, seconds = 0] = time.split(':').slice(-2).map(Number)
      return { pid: Number(pid), parent: Number(parent), seconds: 60 * minutes + seconds, title: title.trim() }
    })
    .filter(({ title }) => !title.startsWith('ps '))
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
  })
  if (isListening) await new Promise((resolve) => server.close(resolve))
  return isListening
}
