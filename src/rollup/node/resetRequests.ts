import { DeviumError } from '../../lib/errors.ts'

/** The node stopped before a reset that somebody waits for. */
export class DerivationStopped extends DeviumError<'derivation-stopped'> {
  override readonly name = 'DerivationStopped'
  constructor() {
    super('derivation-stopped', 'derivation has stopped')
  }
}

/** Requests for a reset: those that come while one is open share it. */
export class ResetRequests {
  private readonly onFirst: (reason: string) => void
  private request: PromiseWithResolvers<void> | undefined
  private hasStopped = false

  /** `onFirst` hears the reason of every request that opens one. */
  constructor(onFirst: (reason: string) => void) {
    this.onFirst = onFirst
  }

  get open(): boolean {
    return this.request !== undefined
  }

  /** Resolves when a reset has succeeded, and rejects when the node stops before. */
  ask(reason: string): Promise<void> {
    if (this.hasStopped) return Promise.reject(new DerivationStopped())
    if (this.request === undefined) {
      this.request = Promise.withResolvers<void>()
      // Whoever does not wait for the reset need not handle its end.
      this.request.promise.catch(() => undefined)
      this.onFirst(reason)
    }
    return this.request.promise
  }

  /** Requests that came while it was carried out are answered by it. */
  done(): void {
    const request = this.request
    this.request = undefined
    request?.resolve()
  }

  stop(): void {
    this.hasStopped = true
    this.request?.reject(new DerivationStopped())
  }
}
