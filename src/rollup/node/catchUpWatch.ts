import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { Progress, progressInLog } from '../../lib/progress.ts'
import type { DerivationStatus } from './derivationStatus.ts'

/** Interval between checks of the status. */
const CHECK_INTERVAL_MS = 2_000
/** Number of L1 blocks behind the last readable block from which derivation counts as catching up. */
const BEHIND_L1_BLOCKS = 3

type Status = Pick<DerivationStatus, 'l1Head' | 'currentL1' | 'confirmations' | 'record' | 'safe'>

/** While derivation is behind L1, logs its progress, rate and remaining time at intervals. */
export class CatchUpWatch {
  private readonly status: () => Status
  private readonly clock: Clock
  private readonly logger: Logger
  private underWay: { progress: Progress; from: number; sinceMs: number } | undefined

  constructor({ status, clock, logger }: { status: () => Status; clock: Clock; logger: Logger }) {
    this.status = status
    this.clock = clock
    this.logger = logger.child({ module: 'derivation' })
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.check()
      await sleep(this.clock, CHECK_INTERVAL_MS, signal).catch(() => undefined)
    }
  }

  check(): void {
    const { l1Head, currentL1, confirmations, record, safe } = this.status()
    // The position is unknown while heads are being found.
    if (l1Head === undefined || currentL1 === undefined) return
    const readable = l1Head.number - confirmations
    if (readable - currentL1.number < BEHIND_L1_BLOCKS) {
      this.end(currentL1.number)
      return
    }
    // Derivation waits for L1.
    if (record.isIdle) return
    // A reset went back, so the progress starts again.
    if (this.underWay === undefined || currentL1.number < this.underWay.from) {
      const parts = { clock: this.clock, sink: progressInLog(this.logger) }
      const progress = new Progress(parts, { what: 'Deriving from L1', unit: 'l1Blocks' })
      this.underWay = { progress, from: currentL1.number, sinceMs: this.clock.now() }
    }
    const { progress, from } = this.underWay
    const fields = () => ({ l1: currentL1.number, l1Head: l1Head.number, safe: safe?.number })
    progress.advance(currentL1.number - from, { total: readable - from, fields })
  }

  private end(l1: number): void {
    const { underWay } = this
    this.underWay = undefined
    if (underWay?.progress.wasShown !== true) return
    const seconds = Math.round((this.clock.now() - underWay.sinceMs) / 1000)
    this.logger.info('Derivation has caught up with L1', { l1, l1Blocks: l1 - underWay.from, seconds })
  }
}
