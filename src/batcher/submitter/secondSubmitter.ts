import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import type { BatchSubmitterModules } from './modules.ts'

/** Another program posts batches with our account. Critical: both use the same nonces, and channels break. */
export class SecondSubmitterError extends DeviumError<'second-submitter'> {
  override readonly name = 'SecondSubmitterError'
}

/** Two foreign batches within this time are no coincidence. */
const FORGET_MS = 3_600_000

/**
 * Detects batches of our account that we did not send. The first one may come from an earlier run and be mined late. So
 * the program only starts afresh, and ends at the second one. Only batches count: an operator may use the account too.
 */
export class SecondSubmitterWatch {
  private readonly modules: Pick<BatchSubmitterModules, 'clock' | 'logger' | 'onFatal'>
  private lastAtMs = Number.NEGATIVE_INFINITY

  constructor(modules: Pick<BatchSubmitterModules, 'clock' | 'logger' | 'onFatal'>) {
    this.modules = modules
  }

  /**
   * Handles a transaction that used one of our nonces. Returns whether the caller must abandon all sends in flight.
   *
   * @param batchInbox undefined until the chain is known
   * @param isPaused nothing is sent at present: sends in flight may all meet foreign batches, which count as one
   */
  note(tx: ForeignTx, { batchInbox, isPaused }: { batchInbox: Hex | undefined; isPaused: boolean }): boolean {
    const { clock, logger, onFatal } = this.modules
    const fields = { tx: tx.hash, nonce: tx.nonce, block: tx.blockNumber, to: tx.to }
    if (batchInbox === undefined || tx.to !== batchInbox) {
      logger.warn('Another program sends transactions from the account of this batch submitter', fields)
      return false
    }
    if (isPaused) return false
    const isSecond = clock.now() - this.lastAtMs < FORGET_MS
    this.lastAtMs = clock.now()
    if (isSecond) {
      onFatal(
        new SecondSubmitterError(
          'second-submitter',
          `a second batch submitter uses this account: transaction ${tx.hash} (nonce ${tx.nonce}, L1 block ${tx.blockNumber}) is a batch that this program did not send. Stop one of the two`,
          { severity: 'critical' },
        ),
      )
    } else logger.error('Another program posted a batch with our account: sending is paused', fields)
    return true
  }
}
