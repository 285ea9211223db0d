import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { DerivationState, DerivationStatus } from './derivationStatus.ts'

/** Between looks at the status. */
const LOOK_MS = 15_000
/** A state must hold for this long before it is worth a line. */
const HOLD_MS = 60_000

/** Writes one line when the safe head has stood still for a reason, and one when that is over. */
export class DerivationWatch {
  private readonly status: () => DerivationStatus
  private readonly clock: Clock
  private readonly logger: Logger
  private state: DerivationState | undefined
  private sinceMs = 0
  private reported: DerivationState | undefined

  constructor({ status, clock, logger }: { status: () => DerivationStatus; clock: Clock; logger: Logger }) {
    this.status = status
    this.clock = clock
    this.logger = logger.child({ module: 'derivation' })
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.look()
      await sleep(this.clock, LOOK_MS, signal).catch(() => undefined)
    }
  }

  look(): void {
    const { state, ok, text, safe } = this.status()
    const nowMs = this.clock.now()
    if (state !== this.state) {
      this.state = state
      this.sinceMs = nowMs
    }
    if (ok) {
      if (this.reported !== undefined) this.logger.info('Safe head is well again', { state, safe: safe?.number })
      this.reported = undefined
    } else if (state !== this.reported && nowMs - this.sinceMs >= HOLD_MS) {
      this.reported = state
      this.logger.warn('Safe head stands still', { state, reason: text })
    }
  }
}
