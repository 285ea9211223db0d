import { DeviumError } from '../../lib/errors.ts'

/** The node stopped before a requested reset. */
export class DerivationStopped extends DeviumError<'derivation-stopped'> {
  override readonly name = 'DerivationStopped'
  constructor() {
    super('derivation-stopped', 'derivation has stopped')
  }
}

/** Requests for a reset. Requests during a pending reset share it. */
export class ResetRequests {
  private readonly onFirst: (reason: string) => void
  private pending: PromiseWithResolvers<void> | undefined
  private hasStopped = false

  /** `onFirst` is called with the reason of each request that starts a new reset. */
  constructor(onFirst: (reason: string) => void) {
    this.onFirst = onFirst
  }

  get open(): boolean {
    return this.pending !== undefined
  }

  /** Resolves when a reset has succeeded. Rejects if the node stops first. */
  request(reason: string): Promise<void> {
    if (this.hasStopped) return Promise.reject(new DerivationStopped())
    if (this.pending === undefined) {
      this.pending = Promise.withResolvers<void>()
      // A caller may ignore the result.
      this.pending.promise.catch(() => undefined)
      this.onFirst(reason)
    }
    return this.pending.promise
  }

  /** Completes all requests that came before the reset ended. */
  done(): void {
    const pending = this.pending
    this.pending = undefined
    pending?.resolve()
  }

  stop(): void {
    this.hasStopped = true
    this.pending?.reject(new DerivationStopped())
  }
}
