import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { type ForeignTx, findTxByNonce } from '../txmgr/foreignTx.ts'

/** Another program posts batches with our account. Critical: they take each other's nonces, and channels break. */
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

/** Each time that nothing was found the next watch is twice as long, so many times. */
const MAX_DOUBLINGS = 4
/** After this long without a foreign batch, watches are short again. */
const FORGET_MS = 3_600_000

/**
 * Looks out for batches of our account that we did not send. The first one may be of a program that ran before this one
 * and was mined late, so the program only steps back: it sends nothing, and ends when another one is posted meanwhile. The
 * time that it watches is random: of two programs that step back together the one that begins again first goes on, and
 * the other one sees it. Only batches matter: an operator may use the account too.
 */
export class SecondSubmitterWatch {
  private readonly modules: SecondSubmitterModules
  private readonly watchMs: number
  private suspicion: ForeignTx | undefined
  private untilMs = 0
  private watches = 0
  private lastAtMs = Number.NEGATIVE_INFINITY
  /** While nothing of ours is sent: the account's first nonce that nobody should use. */
  private nonce: number | undefined

  /** @param watchMs shortest time that is watched; the longest of a first watch is twice that */
  constructor(modules: SecondSubmitterModules, { watchMs }: { watchMs: number }) {
    this.modules = modules
    this.watchMs = watchMs
  }

  /** What is watched for, for people; undefined: nothing. */
  get reason(): string | undefined {
    const { suspicion } = this
    return suspicion && `${nameOf(suspicion)} is a batch that is not ours: watching for another submitter`
  }

  /**
   * A transaction that used up a nonce of ours. Whether it is a batch: everything that is on its way has to be given up
   * then, and `isAlone` says when to begin again.
   *
   * @param batchInbox undefined while the chain is not known yet
   */
  note(tx: ForeignTx, batchInbox: Hex | undefined): boolean {
    const fields = { tx: tx.hash, nonce: tx.nonce, block: tx.blockNumber, to: tx.to }
    if (batchInbox === undefined || tx.to !== batchInbox) {
      this.modules.logger.warn('Somebody else sends transactions from the account of this batch submitter', fields)
      return false
    }
    this.suspect(tx)
    return true
  }

  /** From the next question on, nothing of ours is sent: what the account posts then is not ours. */
  begin(): void {
    this.nonce = undefined
  }

  /**
   * To be asked again and again while nothing of ours is sent; false: not yet. Ends the program when the other one is
   * alive.
   */
  async isAlone(batchInbox: Hex, signal: AbortSignal): Promise<boolean> {
    const { l1, sender, clock, onFatal } = this.modules
    const used = await l1.nonceAt(sender.from, 'latest', signal)
    // What stands in the pool was sent before.
    if (this.nonce === undefined) this.nonce = Math.max(used, await l1.nonceAt(sender.from, 'pending', signal))
    for (; this.nonce < used; this.nonce++) {
      const tx = await findTxByNonce(l1, sender.from, this.nonce, signal)
      if (tx?.to !== batchInbox) continue
      if (this.suspicion !== undefined) {
        onFatal(
          new SecondSubmitterError(
            'second-submitter',
            `a second batch submitter uses this account: ${nameOf(tx)} is a batch that is not ours; only one may run`,
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
    logger.error('A batch was posted with our account that is not ours: sending nothing for a while', {
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
