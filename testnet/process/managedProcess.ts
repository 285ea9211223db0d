import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DeviumError } from '../../src/lib/errors.ts'
import { ProgramLog } from './programLog.ts'

export interface ProcessSpec {
  /** For messages: `sequencer-geth`. */
  name: string
  /** A script for this Node, or another program. */
  command: { script: string } | { binary: string }
  args: readonly string[]
  /** Added to the environment: secrets, which the process list must not show. */
  env?: Record<string, string>
  /** Output is appended to this file, of which the last 20 MB are kept. */
  logPath: string
  /** Ends soon when interrupted, and must be, to keep its data: even in a hurry it is not killed. */
  savesOnInterrupt?: boolean
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Ending {
  /** `exit code 1`, `signal SIGKILL`. */
  how: string
  /** Path of the log. */
  log: string
  /** Of what this run has written. */
  lastLines: string[]
}

/** Between two looks at how long the log is: even a busy program writes a few MB meanwhile. */
const LOG_CHECK_MS = 1_000

const LEASH = new URL('leash.mjs', import.meta.url).href
const LEASHED_BINARY = fileURLToPath(new URL('leashedBinary.mjs', import.meta.url))

/** Environment variables of the programs: what an operator has set for a node of his own must not reach a testnet's. */
const FOREIGN_SETTINGS = /^(DEVIUM_(NODE|BATCH_SUBMITTER|GETH)|OP_NODE|OP_BATCHER|GETH)_/

/**
 * A program of the testnet. It leads a process group of its own, so that Ctrl-C in the terminal reaches only the
 * runner, and its standard input is the leash. It writes to its log file directly: the runner is not in the way of it.
 */
export class ManagedProcess {
  readonly spec: ProcessSpec
  readonly exited: Promise<Exit>
  private readonly child: ChildProcess
  private readonly log: ProgramLog
  private exit: Exit | undefined
  private isPaused = false

  private constructor(spec: ProcessSpec, child: ChildProcess, log: ProgramLog) {
    this.spec = spec
    this.child = child
    this.log = log
    this.exited = new Promise((resolve) => {
      const settle = (exit: Exit) => {
        this.exit ??= exit
        // What it started does not outlive it, even where it could not see to that itself.
        this.signalGroup('SIGKILL')
        resolve(this.exit)
      }
      child.on('exit', (code, signal) => settle({ code, signal }))
      child.on('error', () => settle({ code: 127, signal: null }))
    })
  }

  static start(spec: ProcessSpec): ManagedProcess {
    const log = new ProgramLog(spec.logPath)
    const file = log.open()
    try {
      const { command } = spec
      const nodeArgs =
        'script' in command
          ? ['--disable-warning=ExperimentalWarning', '--import', LEASH, command.script]
          : [LEASHED_BINARY, command.binary]
      const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN_SETTINGS.test(name))
      const child = spawn(process.execPath, [...nodeArgs, ...spec.args], {
        stdio: ['pipe', file, file],
        detached: true,
        env: { ...Object.fromEntries(inherited), ...spec.env },
      })
      // The pipe alone must not keep the runner alive, and a program that is gone must not break it.
      child.stdin?.on('error', () => {})
      const started = new ManagedProcess(spec, child, log)
      const logCheck = setInterval(() => log.trim(), LOG_CHECK_MS).unref()
      void started.exited.then(() => clearInterval(logCheck))
      return started
    } finally {
      closeSync(file)
    }
  }

  get name(): string {
    return this.spec.name
  }

  get pid(): number | undefined {
    return this.child.pid
  }

  get running(): boolean {
    return this.exit === undefined
  }

  get paused(): boolean {
    return this.running && this.isPaused
  }

  /** Freezes it: it answers nobody, and its connections stay open. */
  pause(): void {
    this.isPaused = this.signalGroup('SIGSTOP')
  }

  resume(): void {
    if (this.paused) this.signalGroup('SIGCONT')
    this.isPaused = false
  }

  /** Sets its clock so far ahead of the machine's. Returns whether it can: one that is not ours has a clock of its own. */
  setClock(aheadMs: number): boolean {
    if (!('script' in this.spec.command)) return false
    this.child.stdin?.write(`clock ${Math.round(aheadMs)}\n`)
    return true
  }

  /** Asks it to end with `signal`; kills it when it has not done so in time. Resolves to whether it ended by itself. */
  async stop(signal: NodeJS.Signals, timeoutMs: number): Promise<boolean> {
    if (!this.running) return true
    this.child.kill(signal)
    // A paused program would hear of nothing but a kill.
    this.resume()
    const cancelled = new AbortController()
    const late = delay(timeoutMs, 'late' as const, { signal: cancelled.signal }).catch(() => 'late' as const)
    const outcome = await Promise.race([this.exited, late])
    cancelled.abort()
    if (outcome !== 'late') return true
    if (!this.signalGroup('SIGKILL')) this.child.kill('SIGKILL')
    await this.exited
    return false
  }

  /** Ends it and whatever it started, at once (one that saves on interrupt: as soon as it has). */
  kill(): void {
    if (this.spec.savesOnInterrupt === true) {
      this.child.kill('SIGINT')
      this.resume()
    } else if (this.running && !this.signalGroup('SIGKILL')) this.child.kill('SIGKILL')
  }

  /** To all processes of its group; false when there are none (or no groups: Windows). */
  private signalGroup(signal: NodeJS.Signals): boolean {
    if (this.pid === undefined) return false
    try {
      return process.kill(-this.pid, signal)
    } catch {
      return false
    }
  }

  /** What this run has written so far, at most the last `maxBytes` of it. */
  output(maxBytes = 64 * 1024): string {
    return this.log.read(maxBytes)
  }

  /** Resolves when this run's log has the text. Rejects when the process ends or the time is over before. */
  async outputHas(text: string, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const { running } = this
      if (this.output().includes(text)) return
      if (!running) throw new DeviumError('child-exited', `${this.name} ended without printing "${text}"`)
      if (performance.now() > deadline) {
        throw new DeviumError('child-timeout', `${this.name} did not print "${text}" within ${timeoutMs / 1000} s`)
      }
      await delay(25)
    }
  }

  /** How it ended, once it has, with the last lines of its log. */
  async ending(): Promise<Ending> {
    const { code, signal } = await this.exited
    const lastLines = this.output(4096)
      .trimEnd()
      .split('\n')
      .slice(-8)
      .filter((line) => line !== '')
    return { how: signal === null ? `exit code ${code}` : `signal ${signal}`, log: this.spec.logPath, lastLines }
  }

  /** The same as an error. */
  async failure(): Promise<DeviumError> {
    const { how, log, lastLines } = await this.ending()
    const shown = lastLines.map((line) => `\n    ${line}`).join('')
    const told = shown === '' ? '; its log is empty' : `\n  the last lines of ${log}:${shown}`
    return new DeviumError('child-exited', `${this.name} ended unexpectedly with ${how}${told}`)
  }
}
