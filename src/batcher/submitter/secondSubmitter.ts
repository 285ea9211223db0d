import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { type ForeignTx, findTxByNonce } from '../txmgr/foreignTx.ts'

/** Another program posts batches with our account. Critical: both use the same nonces, and channels break. */
export class SecondSubmitterError extends DeviumError<'second-submitter'> {
  override readonly name = 'SecondSubmitterError'
}

export interface SecondSubmitterModules {
  l1: Pick<SubmitterL1, 'head' | 'nonceAt' | 'transactionsOf'>
  sender: { readonly from: Hex }
  clock: Clock
  logger: Logger
  onFatal: (error: unknown) => void
  /** From 0 to 1. */
  random?: () => number
}

/** Each watch that finds no other submitter doubles the length of the next one, at most this often. */
const MAX_DOUBLINGS = 4
/** After this long without a foreign batch, the first length applies again. */
const FORGET_MS = 3_600_000

/**
 * Detects batches of our account that we did not send. The first one may come from an earlier run and be mined late. So
 * the program only steps back: it sends nothing for a while, and ends if another foreign batch appears. The length of
 * the watch is random. If two programs step back together, one of them resumes first. The other one sees its batch and
 * ends. Only batches count: an operator may use the account too.
 */
export class SecondSubmitterWatch {
  private readonly modules: SecondSubmitterModules
  private readonly watchMs: number
  private suspicion: ForeignTx | undefined
  private untilMs = 0
  private watches = 0
  private lastAtMs = Number.NEGATIVE_INFINITY
  /** The first nonce that nobody should use while we send nothing. */
  private nonce: number | undefined

  /** @param watchMs shortest length of the first watch; its longest length is twice that */
  constructor(modules: SecondSubmitterModules, { watchMs }: { watchMs: number }) {
    this.modules = modules
    this.watchMs = watchMs
  }

  /** Why nothing is sent, as a sentence for operators. Undefined if no watch runs. */
  get reason(): string | undefined {
    const { suspicion } = this
    return suspicion && `${nameOf(suspicion)} is a batch that this program did not send: watching for another submitter`
  }

  /**
   * Handles a transaction that used one of our nonces. Returns whether it is a batch. If so, the caller must abandon
   * all sends in flight, and `isAlone` says when to resume.
   *
   * @param batchInbox undefined until the chain is known
   */
  note(tx: ForeignTx, batchInbox: Hex | undefined): boolean {
    const fields = { tx: tx.hash, nonce: tx.nonce, block: tx.blockNumber, to: tx.to }
    if (batchInbox === undefined || tx.to !== batchInbox) {
      this.modules.logger.warn('Another program sends transactions from the account of this batch submitter', fields)
      return false
    }
    this.suspect(tx)
    return true
  }

  /** Restarts the watch with the next `isAlone`: from then on, a batch of the account is foreign. */
  begin(): void {
    this.nonce = undefined
  }

  /** Poll it while we send nothing; false means: not yet. Ends the program if a second foreign batch appears. */
  async isAlone(batchInbox: Hex, signal: AbortSignal): Promise<boolean> {
    const { l1, sender, clock, onFatal } = this.modules
    const used = await l1.nonceAt(sender.from, 'latest', signal)
    // Transactions in the pool were sent before the watch began.
    if (this.nonce === undefined) this.nonce = Math.max(used, await l1.nonceAt(sender.from, 'pending', signal))
    for (; this.nonce < used; this.nonce++) {
      const tx = await findTxByNonce(l1, sender.from, this.nonce, signal)
      if (tx?.to !== batchInbox) continue
      if (this.suspicion !== undefined) {
        onFatal(
          new SecondSubmitterError(
            'second-submitter',
            `a second batch submitter uses this account: ${nameOf(tx)} is a batch that this program did not send. Stop one of the two`,
            { severity: 'critical' },
          ),
        )
        return false
      }
      this.suspect(tx)
      return false
    }
    if (this.suspicion !== undefined && clock.now() < this.untilMs) return false
    this.suspicion = undefined
    return true
  }

  private suspect(tx: ForeignTx): void {
    const { clock, logger, random = Math.random } = this.modules
    const nowMs = clock.now()
    if (nowMs - this.lastAtMs > FORGET_MS) this.watches = 0
    this.lastAtMs = nowMs
    const forMs = Math.round(this.watchMs * 2 ** Math.min(this.watches++, MAX_DOUBLINGS) * (1 + random()))
    this.suspicion = tx
    this.untilMs = nowMs + forMs
    this.nonce = undefined
    logger.error('Another program posted a batch with our account: sending is paused', {
      tx: tx.hash,
      nonce: tx.nonce,
      block: tx.blockNumber,
      watch_ms: forMs,
    })
  }
}

function nameOf({ hash, nonce, blockNumber }: ForeignTx): string {
  return `transaction ${hash} (nonce ${nonce}, L1 block ${blockNumber})`
}
