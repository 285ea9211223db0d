import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DeviumError } from '../../src/lib/errors.ts'
import { ProgramLog } from './programLog.ts'

export interface ProcessSpec {
  /** For messages: `sequencer-geth`. */
  name: string
  /** A script for this Node version, or another binary. */
  command: { script: string } | { binary: string }
  args: readonly string[]
  /** Extra environment variables: secrets, because the process list shows arguments. */
  env?: Record<string, string>
  /** The file to which output is appended. The last 20 MB are kept. */
  logPath: string
  /** The program saves its data on SIGINT, and is killed only if that takes minutes. */
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
  /** The last lines of this run's log. */
  lastLines: string[]
}

/** Interval of log size checks. A busy program writes a few MB in this time. */
const LOG_CHECK_MS = 1_000

/** Limit for a program that saves on interrupt, the same as that of its leash (leashedBinary.mjs). */
const SAVE_TIMEOUT_MS = 300_000

const LEASH = new URL('leash.mjs', import.meta.url).href
const LEASHED_BINARY = fileURLToPath(new URL('leashedBinary.mjs', import.meta.url))

/**
 * Environment variables that configure the programs. An operator's settings for a node of his own must not apply to the testnet.
 */
const FOREIGN_SETTINGS = /^(DEVIUM_(NODE|BATCH_SUBMITTER|GETH)|OP_NODE|OP_BATCHER|GETH)_/

/**
 * A program of the testnet. It leads its own process group, so that Ctrl-C in the terminal reaches only the runner. Its standard
 * input is the leash. It writes to its log file directly, not through the runner.
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
      const onExit = (exit: Exit) => {
        this.exit ??= exit
        // Kills its child processes, which it may have left behind.
        this.signalGroup('SIGKILL')
        resolve(this.exit)
      }
      child.on('exit', (code, signal) => onExit({ code, signal }))
      child.on('error', () => onExit({ code: 127, signal: null }))
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
      // The pipe must not keep the runner alive. Writing to it after the program has ended must not throw.
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

  /** Freezes the program. It answers no requests, and its connections stay open. */
  pause(): void {
    this.isPaused = this.signalGroup('SIGSTOP')
  }

  resume(): void {
    if (this.paused) this.signalGroup('SIGCONT')
    this.isPaused = false
  }

  /** Sets its clock ahead of the machine's. Returns false if the program is not ours, because its clock cannot be set. */
  setClock(aheadMs: number): boolean {
    if (!('script' in this.spec.command)) return false
    this.child.stdin?.write(`clock ${Math.round(aheadMs)}\n`)
    return true
  }

  /**
   * Sends `signal`, and kills the program after `timeoutMs`, or later if it saves on interrupt. Resolves to whether it ended without
   * a kill.
   */
  async stop(signal: NodeJS.Signals, timeoutMs: number): Promise<boolean> {
    if (!this.running) return true
    this.child.kill(signal)
    // A paused program receives no signal but a kill.
    this.resume()
    const cancelled = new AbortController()
    const limitMs = this.spec.savesOnInterrupt === true ? SAVE_TIMEOUT_MS : timeoutMs
    const late = delay(limitMs, 'late' as const, { signal: cancelled.signal }).catch(() => 'late' as const)
    const outcome = await Promise.race([this.exited, late])
    cancelled.abort()
    if (outcome !== 'late') return true
    if (!this.signalGroup('SIGKILL')) this.child.kill('SIGKILL')
    await this.exited
    return false
  }

  /** Kills the program and its children at once. A program that saves on interrupt may save first. */
  kill(): void {
    if (this.spec.savesOnInterrupt === true) {
      this.child.kill('SIGINT')
      this.resume()
    } else if (this.running && !this.signalGroup('SIGKILL')) this.child.kill('SIGKILL')
  }

  /** Signals all processes of its group. Returns false if there are none, or on Windows, which has no groups. */
  private signalGroup(signal: NodeJS.Signals): boolean {
    if (this.pid === undefined) return false
    try {
      return process.kill(-this.pid, signal)
    } catch {
      return false
    }
  }

  /** The output of this run, at most its last `maxBytes`. */
  output(maxBytes = 64 * 1024): string {
    return this.log.read(maxBytes)
  }

  /** Resolves when this run's log contains the text. Rejects if the process ends or after the timeout. */
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

  /** Resolves after the end, with the exit reason and the last lines of the log. */
  async ending(): Promise<Ending> {
    const { code, signal } = await this.exited
    const lastLines = this.output(4096)
      .trimEnd()
      .split('\n')
      .slice(-8)
      .filter((line) => line !== '')
    return { how: signal === null ? `exit code ${code}` : `signal ${signal}`, log: this.spec.logPath, lastLines }
  }

  /** The ending as an error. */
  async failure(): Promise<DeviumError> {
    const { how, log, lastLines } = await this.ending()
    const shown = lastLines.map((line) => `\n    ${line}`).join('')
    const tail = shown === '' ? '; its log is empty' : `\n  the last lines of ${log}:${shown}`
    return new DeviumError('child-exited', `${this.name} ended unexpectedly with ${how}${tail}`)
  }
}
