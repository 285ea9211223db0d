import { UsageError } from '../../src/lib/errors.ts'
import type { ManagedProcess, ProcessSpec } from '../process/managedProcess.ts'
import { ProcessGroup } from '../process/processGroup.ts'
import type { Emit } from './events.ts'

export interface ProgramModules {
  emit: Emit
  /** Called if a program exits without which the testnet cannot continue. */
  fail: (error: unknown) => void
}

/** A program that has not ended this long after its stop signal is killed, unless it saves. */
const EXIT_TIMEOUT_MS = 15_000

interface Program {
  process: ManagedProcess
  /** The specification of its next start. Throws if it cannot start again. */
  again: () => ProcessSpec
}

/**
 * The long-running programs of a testnet, by name. A program that exits unexpectedly ends the testnet. After `tolerateExits` its
 * exit is only reported, and it can be started again while the others continue.
 */
export class RunningPrograms {
  readonly group: ProcessGroup
  private readonly modules: ProgramModules
  private readonly programs = new Map<string, Program>()
  /** Programs stopped on purpose. Their end does not end the testnet. */
  private readonly dismissed = new WeakSet<ManagedProcess>()
  /** Replaced programs, whose exit is not reported. */
  private readonly replaced = new WeakSet<ManagedProcess>()
  private toleratesExits = false

  constructor(modules: ProgramModules) {
    this.modules = modules
    this.group = new ProcessGroup((crashed) => void this.onCrash(crashed))
  }

  /** From now on the others continue when a program exits. */
  tolerateExits(): void {
    this.toleratesExits = true
  }

  get(name: string): ManagedProcess | undefined {
    return this.programs.get(name)?.process
  }

  start(spec: ProcessSpec, again: () => ProcessSpec = () => spec): void {
    this.programs.set(spec.name, { process: this.group.start(spec), again })
  }

  /** All names, in the order of dependencies. */
  names(): string[] {
    return [...this.programs.keys()]
  }

  /** Names of programs that have ended, in the order of dependencies. */
  ended(): string[] {
    return [...this.programs].filter(([, { process }]) => !process.running).map(([name]) => name)
  }

  running(): string[] {
    return this.names().filter((name) => this.isRunning(name))
  }

  /** Marks all programs as stopped on purpose, before they are stopped and started again. */
  expectAllExits(): void {
    for (const { process } of this.programs.values()) this.replaced.add(process)
  }

  /** Stops a program if it runs, and starts it with another specification. */
  async replace(spec: ProcessSpec, signal: NodeJS.Signals, again?: () => ProcessSpec): Promise<void> {
    const { process } = this.find(spec.name)
    this.replaced.add(process)
    await process.stop(signal, EXIT_TIMEOUT_MS)
    this.start(spec, again)
    this.modules.emit({ event: 'started-again', program: spec.name })
  }

  /** Sets the specification of its next start. */
  setAgain(name: string, again: () => ProcessSpec): void {
    this.find(name).again = again
  }

  /** Removes a program, so that it cannot be started again. */
  forget(name: string): void {
    this.programs.delete(name)
  }

  isRunning(name: string): boolean {
    return this.find(name).process.running
  }

  isPaused(name: string): boolean {
    return this.find(name).process.paused
  }

  /**
   * Stops a program by this signal while the others continue. Returns whether it ended by itself. Throws UsageError if it does not
   * run.
   */
  async end(name: string, signal: NodeJS.Signals): Promise<boolean> {
    const { process } = this.find(name)
    if (!process.running) throw new UsageError(`${name} does not run`)
    this.dismissed.add(process)
    const isWilling = await process.stop(signal, EXIT_TIMEOUT_MS)
    if (!isWilling) this.modules.emit({ event: 'warning', message: `${name} did not end in time: killed` })
    return isWilling
  }

  /** Throws UsageError if the program does not run or is paused. */
  pause(name: string): void {
    const { process } = this.find(name)
    if (!process.running) throw new UsageError(`${name} does not run`)
    if (process.paused) throw new UsageError(`${name} is paused already`)
    process.pause()
  }

  /** Sets a program's clock until its next start. Throws UsageError if its clock cannot be set. */
  setClock(name: string, aheadMs: number): void {
    const { process } = this.find(name)
    if (!process.setClock(aheadMs))
      throw new UsageError(`clock: ${name} is no program of devium: it has the machine's clock`)
  }

  /** Resumes all paused programs, so that they receive the stop signal. */
  resumeAll(): void {
    for (const { process } of this.programs.values()) process.resume()
  }

  /**
   * Resumes a paused program, or starts an ended one. Throws UsageError if there is no such program, it runs already, or it
   * cannot start again.
   */
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
    if (!this.toleratesExits && !this.dismissed.has(crashed)) return this.modules.fail(await crashed.failure())
    this.modules.emit({ event: 'ended', program: crashed.name, ...(await crashed.ending()) })
  }
}
