import { JsonRpcError } from '../../jsonRpc/types.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import { networkForm } from '../../rollup/protocol/index.ts'
import type { L1Heads } from '../l1/l1Heads.ts'
import type { SubmitterL1, TxReceipt } from '../l1/submitterL1.ts'
import { classifyPublishError, PROBLEM_LABELS, type PublishProblem, TxError } from './errors.ts'
import type { FeeSuggestion, TxKind } from './fees.ts'
import { orUndefined, readNonce, readTerms } from './l1Terms.ts'
import type { TxManagerMetrics } from './metrics.ts'
import { type L1Terms, type Obstacle, obstacleOf, replacementOf } from './obstacle.ts'
import type { TxManagerOptions } from './options.ts'
import type { BlobSidecar } from './sidecar.ts'
import type { TxSigner } from './signer.ts'
import type { L1Tx, SignedTx } from './transaction.ts'
import type { CraftedTx, InFlightTx } from './types.ts'

export interface SendLoopModules {
  l1: Pick<SubmitterL1, 'sendRawTransaction' | 'receipts' | 'estimateGas' | 'nonceAt' | 'suggestFees'>
  heads: Pick<L1Heads, 'version' | 'changed'>
  signer: TxSigner
  clock: Clock
  logger: Logger
  metrics: TxManagerMetrics
  /** The L1's fees, within the operator's limits. */
  suggestFees: (kind: TxKind, signal: AbortSignal) => Promise<FeeSuggestion>
  /**
   * Resolves with the same blobs and proofs of the form that the L1 accepts now. `isRefused`: the L1 refused the
   * present form.
   */
  proveAgain: (sidecar: BlobSidecar, isRefused: boolean) => Promise<BlobSidecar>
  /** The lowest nonce below `nonce` that neither the L1 nor a send in flight has. Undefined if there is none. */
  missingNonceBelow: (nonce: number, signal: AbortSignal) => Promise<number | undefined>
}

/**
 * Brings one nonce to its confirmation. It publishes the transaction and sends it again unchanged at each rebroadcast
 * interval. At each resubmission timeout it replaces the transaction with higher fees. At each new L1 head it requests
 * the receipts of all versions.
 *
 * Before sending again, it compares the transaction with the L1's present terms (`obstacle.ts`). If a fork raised the
 * gas that the transaction needs, the gas limit is raised at once. If the L1's price is above the transaction's fees,
 * the operator's fee limit does not apply. If the L1 neither holds nor accepts any version, the send is aborted, and
 * another transaction sends the data. If a reorg removes the receipt, publishing starts again. If a reorg leaves a gap
 * below the nonce, the send ends.
 */
export class SendLoop {
  private readonly modules: SendLoopModules
  private readonly options: TxManagerOptions
  private tx: L1Tx
  private signed: SignedTx
  /** All versions have the same blobs. */
  private sidecar: BlobSidecar | undefined
  /** Hashes of all versions of the transaction. */
  readonly hashes: Hex[] = []
  private accepted = false
  /** A publication ended without an answer: the L1 may have accepted it. */
  private unanswered = false
  /** L1 block of the version that was mined. */
  private minedIn: number | undefined
  private nonceTooLowCount = 0
  private nonceTooHighCount = 0
  private incompatibleType = false
  private nonceGap = false
  private bumps = 0
  private problem: string | undefined
  private obstacle: Obstacle | undefined
  /** Since when no L1 pool is known to hold a version. Undefined if a pool holds one. */
  private outOfPoolSinceMs: number | undefined
  /** The L1 head of the last receipt request. */
  private head = 0
  /** The L1 head of the first receipt request after the L1 accepted the newest version. */
  private takenAtBlock: number | undefined
  private refusals = 0
  private readonly startedAtMs: number

  constructor(modules: SendLoopModules, options: TxManagerOptions, crafted: CraftedTx) {
    this.modules = modules
    this.options = options
    this.tx = crafted.tx
    this.signed = crafted.signed
    this.sidecar = crafted.sidecar
    this.startedAtMs = modules.clock.now()
    this.outOfPoolSinceMs = this.startedAtMs
  }

  get nonce(): number {
    return this.tx.nonce
  }

  private get mined(): boolean {
    return this.minedIn !== undefined
  }

  /** The newest version, if the L1's pool may still hold it. */
  get leftBehind(): L1Tx | undefined {
    // A pool that holds the other kind holds no version.
    if (this.mined || this.incompatibleType) return undefined
    return this.accepted || this.unanswered ? this.tx : undefined
  }

  /** The L1's pool holds transactions of the other kind. */
  get isRefusedForKind(): boolean {
    return this.incompatibleType
  }

  /** Another transaction used the nonce. */
  get lostItsNonce(): boolean {
    return this.nonceTooLowCount > 0 && !this.mined
  }

  get status(): InFlightTx {
    const { tx, takenAtBlock, head } = this
    return {
      nonce: tx.nonce,
      hash: this.signed.hash,
      blobs: tx.blobHashes?.length ?? 0,
      startedAtMs: this.startedAtMs,
      bumps: this.bumps,
      tipWei: tx.fees.tip,
      feeCapWei: tx.fees.feeCap,
      blobFeeCapWei: tx.fees.blobFeeCap,
      minedIn: this.minedIn,
      missedBlocks: takenAtBlock === undefined ? undefined : Math.max(0, head - takenAtBlock),
      problem: this.mined ? undefined : this.whyNotMined,
    }
  }

  private get whyNotMined(): string | undefined {
    const reasons = [this.obstacle?.reason, this.problem].filter((reason) => reason !== undefined)
    return reasons.length === 0 ? undefined : reasons.join('; ')
  }

  /** Resolves with the confirmed receipt. Rejects with TxError, or with the signal's reason. */
  async run(signal: AbortSignal): Promise<TxReceipt> {
    const { clock, heads } = this.modules
    let publishAtMs = clock.now()
    let bumpAtMs = clock.now() + this.options.resubmissionTimeoutMs
    for (;;) {
      signal.throwIfAborted()
      // The clock may have been set back.
      bumpAtMs = Math.min(bumpAtMs, clock.now() + this.options.resubmissionTimeoutMs)
      if (!this.mined && clock.now() >= Math.min(publishAtMs, bumpAtMs)) {
        const resubmit = clock.now() >= bumpAtMs
        this.nonceGap = this.hashes.length > 0 && (await this.standsAboveGap(signal))
        if (!this.nonceGap) await this.publish(resubmit, signal)
        if (resubmit) bumpAtMs = clock.now() + this.options.resubmissionTimeoutMs
        publishAtMs = clock.now() + this.pauseMs()
      }
      const { mined: wasMined } = this
      const { version } = heads
      const receipt = await this.confirmedReceipt(signal)
      if (receipt !== undefined) return receipt
      // After a reorg, a pool need not take the transaction back.
      if (wasMined && !this.mined) publishAtMs = clock.now()
      const problem = this.criticalProblem()
      if (problem !== undefined) throw new TxError('tx-aborted', `aborted tx send due to critical error: ${problem}`)
      const untilPublish = this.mined ? Number.POSITIVE_INFINITY : Math.min(publishAtMs, bumpAtMs) - clock.now()
      await heads.changed(version, Math.max(0, Math.min(this.options.receiptQueryIntervalMs, untilPublish)), signal)
    }
  }

  /** Checks twice: an endpoint may be backed by several machines, and one may lag behind. */
  private async standsAboveGap(signal: AbortSignal): Promise<boolean> {
    const { clock, logger, metrics, missingNonceBelow } = this.modules
    const { nonce } = this
    try {
      const missing = await missingNonceBelow(nonce, signal)
      if (missing === undefined) return false
      await sleep(clock, this.options.retryIntervalMs, signal)
      if ((await missingNonceBelow(nonce, signal)) !== missing) return false
      logger.warn('The L1 lacks a lower nonce, so the transaction cannot be mined', { nonce, missing })
      return true
    } catch (error) {
      signal.throwIfAborted()
      metrics.rpcError()
      logger.debug('Unable to query the nonce', { nonce, err: error })
      return false
    }
  }

  /** Time until the next publication. It grows up to the rebroadcast interval while the L1 refuses the transaction. */
  private pauseMs(): number {
    const { rebroadcastIntervalMs, retryIntervalMs } = this.options
    if (this.accepted) return rebroadcastIntervalMs
    const growing = retryIntervalMs * 2 ** Math.min(20, this.refusals++)
    return Math.min(growing, Math.max(retryIntervalMs, rebroadcastIntervalMs))
  }

  private async publish(resubmit: boolean, signal: AbortSignal): Promise<void> {
    const { l1, logger, metrics } = this.modules
    if (this.hashes.length > 0) {
      if (await this.hasLostNonce(signal)) return this.notePublishProblem('nonce-too-low', undefined)
      const terms = await this.examine(signal)
      if (this.obstacle === undefined ? resubmit && this.accepted : resubmit || !this.obstacle.isPrice)
        await this.replace(signal, terms)
    }
    if (!(await this.proveAgain(false, signal))) return
    for (let attempt = 0; ; attempt++) {
      const fields = {
        tx: this.signed.hash,
        nonce: this.nonce,
        gasTipCap: this.tx.fees.tip,
        gasFeeCap: this.tx.fees.feeCap,
        blobs: this.tx.blobHashes?.length,
        blobFeeCap: this.tx.fees.blobFeeCap,
      }
      logger.debug('Publishing transaction', fields)
      if (!this.hashes.includes(this.signed.hash)) this.hashes.push(this.signed.hash)
      try {
        await l1.sendRawTransaction(this.networkBytes(), signal)
        metrics.published()
        this.noteTaken()
        this.problem = undefined
        logger.debug('Transaction successfully published', fields)
        return
      } catch (error) {
        if (!(error instanceof JsonRpcError)) this.unanswered = true
        signal.throwIfAborted()
        const problem = classifyPublishError(describeError(error), this.options.alreadyPublishedErrors)
        metrics.publishError(PROBLEM_LABELS[problem])
        if (problem !== 'already-known') this.problem = describeError(error)
        if (problem === 'replacement-underpriced' || problem === 'underpriced') {
          logger.warn('Transaction is underpriced', { ...fields, err: error })
          if (attempt > 0 || !(await this.replace(signal))) return
          continue
        }
        this.notePublishProblem(problem, error)
        if (problem === 'proof-form' && attempt === 0 && (await this.proveAgain(true, signal))) continue
        if (problem !== 'unknown') return
        if (error instanceof JsonRpcError) await this.noteRefusal(signal)
        if (attempt > 0) return
        const terms = await this.examine(signal)
        if (this.obstacle?.isPrice !== false || !(await this.replace(signal, terms))) return
      }
    }
  }

  private noteTaken(): void {
    this.accepted = true
    this.outOfPoolSinceMs = undefined
    this.nonceTooHighCount = 0
  }

  /** A refusal matters only if the L1's pool does not already hold a version. */
  private async noteRefusal(signal: AbortSignal): Promise<void> {
    const pending = await readNonce(this.modules, 'pending', signal)
    if (pending !== undefined && pending <= this.nonce) this.outOfPoolSinceMs ??= this.modules.clock.now()
  }

  /** Not every L1 client answers "nonce too low". */
  private async hasLostNonce(signal: AbortSignal): Promise<boolean> {
    const latest = await readNonce(this.modules, 'latest', signal)
    return latest !== undefined && latest > this.nonce
  }

  /** Checks whether the L1 could mine the newest version. Resolves with the L1's terms, if they are known. */
  private async examine(signal: AbortSignal): Promise<L1Terms | undefined> {
    const terms = await orUndefined(this.modules, readTerms(this.modules, this.tx, signal), signal)
    if (terms === undefined) return undefined
    this.obstacle = obstacleOf(this.tx, terms)
    if (this.obstacle !== undefined)
      this.modules.logger.debug('The L1 cannot mine the transaction', {
        nonce: this.nonce,
        reason: this.obstacle.reason,
      })
    return terms
  }

  /** Whether the blobs now have proofs of the form that the L1 accepts. */
  private async proveAgain(isRefused: boolean, signal: AbortSignal): Promise<boolean> {
    if (this.sidecar === undefined) return true
    try {
      this.sidecar = await untilAborted(this.modules.proveAgain(this.sidecar, isRefused), signal)
      return true
    } catch (error) {
      signal.throwIfAborted()
      this.problem = `its blob proofs cannot be computed: ${describeError(error)}`
      this.modules.logger.warn('Failed to compute the blob proofs of the transaction', {
        nonce: this.nonce,
        err: error,
      })
      return false
    }
  }

  private networkBytes(): Uint8Array {
    return this.sidecar === undefined ? this.signed.raw : networkForm(this.signed.raw, this.sidecar)
  }

  private notePublishProblem(problem: PublishProblem, error: unknown): void {
    const { logger } = this.modules
    const fields = { tx: this.signed.hash, nonce: this.nonce, err: error }
    switch (problem) {
      case 'already-known':
        this.noteTaken()
        logger.debug('Transaction is already known to the L1', fields)
        return
      case 'nonce-too-low':
        this.nonceTooLowCount++
        // After an accepted version, this is most likely our own transaction that was mined a moment ago.
        if (this.accepted) logger.debug('Nonce is already used', fields)
        else logger.warn('Nonce too low', fields)
        return
      case 'nonce-too-high':
        this.nonceTooHighCount++
        logger.warn('Nonce too high', fields)
        return
      case 'incompatible-type':
        this.incompatibleType = true
        logger.warn('txpool contains pending tx of incompatible type', fields)
        return
      default:
        logger.warn('Unable to publish transaction', fields)
    }
  }

  /**
   * Signs a version with higher fees. False if that fails: then the present version stays.
   *
   * @param known the L1's terms for the present version, if they were just read
   */
  private async replace(signal: AbortSignal, known?: L1Terms): Promise<boolean> {
    const { logger, metrics, signer } = this.modules
    const { tx: old } = this
    try {
      const suggestion = await this.modules.suggestFees(old.blobHashes === undefined ? 'calldata' : 'blobs', signal)
      const terms = known ?? (await readTerms(this.modules, old, signal))
      const limits = this.obstacle === undefined ? this.options : undefined
      const tx = replacementOf(old, suggestion, terms, limits)
      this.signed = await signer.signTransaction(tx)
      this.tx = tx
      this.obstacle = undefined
      this.problem = undefined
      this.takenAtBlock = undefined
      this.bumps++
      metrics.bumped(this.bumps)
      logger.info('Bumping fees of transaction', {
        nonce: tx.nonce,
        gasTipCap: tx.fees.tip,
        gasFeeCap: tx.fees.feeCap,
        old_gasTipCap: old.fees.tip,
        old_gasFeeCap: old.fees.feeCap,
        ...(tx.gasLimit === old.gasLimit ? {} : { gasLimit: tx.gasLimit, old_gasLimit: old.gasLimit }),
        blobFeeCap: tx.fees.blobFeeCap,
        old_blobFeeCap: old.fees.blobFeeCap,
      })
      return true
    } catch (error) {
      signal.throwIfAborted()
      metrics.publishError('bump_failed')
      this.problem = `its fees cannot be raised: ${describeError(error)}`
      logger.warn('Unable to bump the fees of the transaction', { nonce: this.nonce, err: error })
      return false
    }
  }

  private async confirmedReceipt(signal: AbortSignal): Promise<TxReceipt | undefined> {
    const { l1, logger, metrics } = this.modules
    const request = l1.receipts(this.hashes, signal)
    const answer = await orUndefined(this.modules, request, signal, 'Unable to query receipts', {
      nonce: this.nonce,
    })
    if (answer === undefined) {
      // The transaction that used the nonce may be ours.
      this.nonceTooLowCount = 0
      return undefined
    }
    const receipt = answer.receipts.find((candidate) => candidate !== undefined)
    if (receipt === undefined) {
      if (this.mined) logger.warn('Transaction left the L1 chain', { nonce: this.nonce })
      this.minedIn = undefined
      this.head = answer.head
      if (this.outOfPoolSinceMs === undefined) this.takenAtBlock ??= answer.head
      return undefined
    }
    if (!this.mined) {
      logger.debug('Transaction is in a block', { tx: receipt.transactionHash, block: receipt.blockNumber })
    }
    this.minedIn = receipt.blockNumber
    this.nonceTooLowCount = 0
    // The block of inclusion counts as the first confirmation.
    if (receipt.blockNumber + this.options.numConfirmations > answer.head + 1) return undefined
    metrics.confirmed(receipt, this.modules.clock.now() - this.startedAtMs)
    return receipt
  }

  private criticalProblem(): string | undefined {
    if (this.mined) return undefined
    if (this.nonceTooLowCount >= this.options.safeAbortNonceTooLowCount) return 'nonce too low'
    if (this.nonceTooLowCount > 0 && !this.accepted) return 'nonce too low'
    if (this.nonceTooHighCount > this.options.maxRetries) return 'nonce too high'
    const { outOfPoolSinceMs: since } = this
    if (since !== undefined && this.modules.clock.now() - since >= this.options.notInMempoolTimeoutMs)
      return 'failed to get tx into the mempool'
    if (this.nonceGap) return 'nonce gap'
    if (this.incompatibleType) return 'address already reserved'
    return undefined
  }
}
