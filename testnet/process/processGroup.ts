import { DeviumError } from '../../src/lib/errors.ts'
import { ManagedProcess, type ProcessSpec } from './managedProcess.ts'

/** All programs of a testnet. Reports a program that ends unexpectedly, and leaves none behind. */
export class ProcessGroup {
  private readonly processes = new Set<ManagedProcess>()
  private readonly onCrash: (crashed: ManagedProcess) => void
  private stopping = false

  constructor(onCrash: (crashed: ManagedProcess) => void) {
    this.onCrash = onCrash
  }

  /** Starts a program that must run until it is stopped. */
  start(spec: ProcessSpec): ManagedProcess {
    const started = this.add(spec)
    void started.exited.then(() => {
      if (!this.stopping) this.onCrash(started)
    })
    return started
  }

  /** Runs a program to its end. Rejects unless the exit code is 0. */
  async run(spec: ProcessSpec): Promise<void> {
    const started = this.add(spec)
    const { code } = await started.exited
    if (code !== 0) throw await started.failure()
  }

  /** From now on, programs may end without a report. */
  expectExits(): void {
    this.stopping = true
  }

  /** Synchronous, so that it can run in an exit handler. */
  killAll(): void {
    this.stopping = true
    for (const running of this.processes) running.kill()
  }

  private add(spec: ProcessSpec): ManagedProcess {
    if (this.stopping) throw new DeviumError('stopping', `${spec.name} is not started: the testnet stops`)
    const started = ManagedProcess.start(spec)
    this.processes.add(started)
    void started.exited.then(() => this.processes.delete(started))
    return started
  }
}
