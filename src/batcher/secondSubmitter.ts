import type { Clock } from '../lib/clock.ts'
import { DeviumError } from '../lib/errors.ts'
import type { Hex } from '../lib/hex.ts'
import type { Logger } from '../lib/logger.ts'
import type { ForeignTx } from './txmgr/foreignTx.ts'

/** Another program posts batches with our account. Critical: they take each other's nonces, and channels break. */
export class SecondSubmitterError extends DeviumError<'second-submitter'> {
  override readonly name = 'SecondSubmitterError'
}

/**
 * One foreign batch may be of a program that ran before this one and was mined late. A second one this much later is not.
 * The later of two programs to notice it stays: what it then still loses was on its way before.
 */
const GRACE_MS = 30_000
/** After this long without another one, the count begins anew. */
const FORGET_MS = 600_000

/** Judges transactions of our account that we did not send. Only batches matter: an operator may use the account too. */
export class SecondSubmitterWatch {
  private readonly modules: { clock: Clock; logger: Logger; onFatal: (error: unknown) => void }
  private readonly graceMs: number
  private firstAtMs: number | undefined
  private lastAtMs = 0

  constructor(
    modules: { clock: Clock; logger: Logger; onFatal: (error: unknown) => void },
    { graceMs = GRACE_MS }: { graceMs?: number } = {},
  ) {
    this.modules = modules
    this.graceMs = graceMs
  }

  /** `batchInbox`: undefined while the chain is not known yet. */
  note(tx: ForeignTx, batchInbox: Hex | undefined): void {
    const { clock, logger, onFatal } = this.modules
    const fields = { tx: tx.hash, nonce: tx.nonce, block: tx.blockNumber, to: tx.to }
    if (batchInbox === undefined || tx.to !== batchInbox) {
      logger.warn('Somebody else sends transactions from the account of this batch submitter', fields)
      return
    }
    const nowMs = clock.now()
    if (this.firstAtMs === undefined || nowMs - this.lastAtMs > FORGET_MS) this.firstAtMs = nowMs
    this.lastAtMs = nowMs
    logger.error('A batch was posted with our account that is not ours', fields)
    // Never with the first one: two programs would both end.
    if (this.firstAtMs === nowMs || nowMs - this.firstAtMs < this.graceMs) return
    onFatal(
      new SecondSubmitterError(
        'second-submitter',
        `a second batch submitter uses this account: transaction ${tx.hash} (nonce ${tx.nonce}, L1 block ${tx.blockNumber}) is a batch that is not ours; only one may run`,
        { severity: 'critical' },
      ),
    )
  }
}
