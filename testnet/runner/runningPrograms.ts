import { UsageError } from '../../src/lib/errors.ts'
import type { ManagedProcess, ProcessSpec } from '../process/managedProcess.ts'
import { ProcessGroup } from '../process/processGroup.ts'
import type { Emit } from './events.ts'

export interface ProgramModules {
  emit: Emit
  /** Told when a program ends without which the testnet is not to go on. */
  fail: (error: unknown) => void
}

/** For one that is asked to end. */
const EXIT_TIMEOUT_MS = 15_000

interface Program {
  process: ManagedProcess
  /** What it is started with after it has ended; throws where it cannot be. */
  again: () => ProcessSpec
}

/**
 * The programs of a testnet that run until they are stopped, by name. One that ends by itself ends the testnet, or, once
 * deaths are tolerated, is told of, and can be started again while the others go on.
 */
export class RunningPrograms {
  readonly group: ProcessGroup
  private readonly modules: ProgramModules
  private readonly programs = new Map<string, Program>()
  /** Ended on purpose: no reason to end the others. */
  private readonly dismissed = new WeakSet<ManagedProcess>()
  /** Nobody misses them. */
  private readonly replaced = new WeakSet<ManagedProcess>()
  private toleratesDeaths = false

  constructor(modules: ProgramModules) {
    this.modules = modules
    this.group = new ProcessGroup((crashed) => void this.onCrash(crashed))
  }

  /** From now on the others go on when one ends. */
  tolerateDeaths(): void {
    this.toleratesDeaths = true
  }

  get(name: string): ManagedProcess | undefined {
    return this.programs.get(name)?.process
  }

  start(spec: ProcessSpec, again: () => ProcessSpec = () => spec): void {
    this.programs.set(spec.name, { process: this.group.start(spec), again })
  }

  /** All of them, in the order in which they need each other. */
  names(): string[] {
    return [...this.programs.keys()]
  }

  /** Those that have ended, in the order in which they need each other. */
  ended(): string[] {
    return [...this.programs].filter(([, { process }]) => !process.running).map(([name]) => name)
  }

  /** Those that have not ended. */
  running(): string[] {
    return this.names().filter((name) => this.isRunning(name))
  }

  /** All of them are about to end on purpose, and will be started again. */
  excuseAll(): void {
    for (const { process } of this.programs.values()) this.replaced.add(process)
  }

  /** Ends a program, if it runs, and starts it with another specification. */
  async replace(spec: ProcessSpec, signal: NodeJS.Signals, again?: () => ProcessSpec): Promise<void> {
    const { process } = this.find(spec.name)
    this.replaced.add(process)
    await process.stop(signal, EXIT_TIMEOUT_MS)
    this.start(spec, again)
    this.modules.emit({ event: 'started-again', program: spec.name })
  }

  /** What it is to be started with after it has ended. */
  setAgain(name: string, again: () => ProcessSpec): void {
    this.find(name).again = again
  }

  /** Nobody can start it again. */
  forget(name: string): void {
    this.programs.delete(name)
  }

  isRunning(name: string): boolean {
    return this.find(name).process.running
  }

  isPaused(name: string): boolean {
    return this.find(name).process.paused
  }

  /** Ends a program by this signal while the others go on. Throws UsageError for one that does not run. */
  async end(name: string, signal: NodeJS.Signals): Promise<void> {
    const { process } = this.find(name)
    if (!process.running) throw new UsageError(`${name} does not run`)
    this.dismissed.add(process)
    const isWilling = await process.stop(signal, EXIT_TIMEOUT_MS)
    if (isWilling) return
    const message = `${name} did not end within ${EXIT_TIMEOUT_MS / 1000} s: killed`
    this.modules.emit({ event: 'warning', message })
  }

  /** Throws UsageError for one that does not run, or is paused. */
  pause(name: string): void {
    const { process } = this.find(name)
    if (!process.running) throw new UsageError(`${name} does not run`)
    if (process.paused) throw new UsageError(`${name} is paused already`)
    process.pause()
  }

  /** Sets a program's clock, until it is started again. Throws UsageError for one whose clock nobody can set. */
  setClock(name: string, aheadMs: number): void {
    const { process } = this.find(name)
    if (!process.setClock(aheadMs))
      throw new UsageError(`clock: ${name} is no program of devium: it has the machine's clock`)
  }

  /** So that they can hear of the end. */
  resumeAll(): void {
    for (const { process } of this.programs.values()) process.resume()
  }

  /** Has a paused program go on. Throws UsageError for one that is none, or runs, and what makes that it cannot be started again. */
  startAgain(name: string): void {
    const program = this.find(name)
    if (program.process.paused) {
      program.process.resume()
      return
    }
    if (program.process.running) throw new UsageError(`${name} has not ended`)
    program.process = this.group.start(program.again())
    this.modules.emit({ event: 'started-again', program: name })
  }

  private find(name: string): Program {
    const program = this.programs.get(name)
    if (program !== undefined) return program
    throw new UsageError(`there is no program ${name}: expected one of ${this.names().join(', ')}`)
  }

  private async onCrash(crashed: ManagedProcess): Promise<void> {
    if (this.replaced.has(crashed)) return
    if (!this.toleratesDeaths && !this.dismissed.has(crashed)) return this.modules.fail(await crashed.failure())
    this.modules.emit({ event: 'ended', program: crashed.name, ...(await crashed.ending()) })
  }
}
