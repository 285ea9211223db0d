import { UsageError } from '../../src/lib/errors.ts'
import type { ManagedProcess, ProcessSpec } from '../process/managedProcess.ts'
import { ProcessGroup } from '../process/processGroup.ts'
import type { Emit } from './events.ts'

export interface ProgramModules {
  emit: Emit
  /** Told when a program ends without which the testnet is not to go on. */
  fail: (error: unknown) => void
}

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

  /** Those that have ended, in the order in which they need each other. */
  ended(): string[] {
    return [...this.programs].filter(([, { process }]) => !process.running).map(([name]) => name)
  }

  /** Throws UsageError for one that is none, or runs, and what makes that it cannot be started again. */
  startAgain(name: string): void {
    const program = this.programs.get(name)
    if (program === undefined) {
      throw new UsageError(`there is no program ${name}: expected one of ${[...this.programs.keys()].join(', ')}`)
    }
    if (program.process.running) throw new UsageError(`${name} has not ended`)
    program.process = this.group.start(program.again())
    this.modules.emit({ event: 'started-again', program: name })
  }

  private async onCrash(crashed: ManagedProcess): Promise<void> {
    if (!this.toleratesDeaths) return this.modules.fail(await crashed.failure())
    this.modules.emit({ event: 'ended', program: crashed.name, ...(await crashed.ending()) })
  }
}
