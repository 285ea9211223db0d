import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { L1Endpoint, TxReceipt } from '../l1Endpoint.ts'
import type { L1Heads } from '../l1Heads.ts'
import { classifyPublishError, type PublishProblem, TxError } from './errors.ts'
import { bumpFees, checkFeeLimits, type FeeCaps, type FeeSuggestion, larger, type TxKind } from './fees.ts'
import type { TxManagerMetrics } from './metrics.ts'
import type { TxManagerOptions } from './options.ts'
import { type BlobSidecar, networkForm } from './sidecar.ts'
import type { TxSigner } from './signer.ts'
import type { L1Tx, SignedTx } from './transaction.ts'

export interface SendLoopModules {
  l1: Pick<L1Endpoint, 'sendRawTransaction' | 'receipts' | 'estimateGas'>
  heads: Pick<L1Heads, 'version' | 'changed'>
  signer: TxSigner
  clock: Clock
  logger: Logger
  metrics: TxManagerMetrics
  suggestFees: (kind: TxKind, signal: AbortSignal) => Promise<FeeSuggestion>
  /** First nonce below the given one that nothing will bring to the L1; undefined: there is none. */
  missingNonceBelow: (nonce: number, signal: AbortSignal) => Promise<number | undefined>
}

/** A transaction that is not confirmed yet, for people. */
export interface InFlightTx {
  nonce: number
  /** Of the newest version. */
  hash: Hex
  blobs: number
  /** Since when it is sent. */
  startedAtMs: number
  /** How often its fees were raised. */
  bumps: number
  tipWei: bigint
  feeCapWei: bigint
  blobFeeCapWei: bigint | undefined
  /** The L1 block that holds a version of it. */
  minedIn: number | undefined
  /** Why the L1 did not take it, or why its fees were not raised, when that was tried last. */
  problem: string | undefined
}

/** A transaction ready to be published. */
export interface CraftedTx {
  tx: L1Tx
  signed: SignedTx
  sidecar?: BlobSidecar | undefined
}

const PROBLEM_LABELS: Record<PublishProblem, string> = {
  'already-known': 'tx_already_known',
  'nonce-too-low': 'nonce_too_low',
  'nonce-too-high': 'nonce_too_high',
  'replacement-underpriced': 'tx_replacement_underpriced',
  underpriced: 'tx_underpriced',
  'incompatible-type': 'pending_tx_of_incompatible_type',
  unknown: 'unknown_error',
}

/**
 * Carries one nonce to its confirmation: publishes, sends again unchanged each rebroadcast interval, replaces it by a
 * dearer version each resubmission timeout, and looks for the receipt of any version at each new L1 head. An L1 reorg that
 * takes the receipt away starts publishing again; one that leaves a gap below the nonce ends the send.
 */
export class SendLoop {
  private readonly modules: SendLoopModules
  private readonly options: TxManagerOptions
  private tx: L1Tx
  private signed: SignedTx
  /** The same for all versions: a dearer one names the same blobs. */
  private readonly sidecar: BlobSidecar | undefined
  private readonly versions: Hex[] = []
  private accepted = false
  /** L1 block number of the version that was included. */
  private minedIn: number | undefined
  private nonceTooLowCount = 0
  private nonceTooHighCount = 0
  private incompatibleType = false
  private nonceGap = false
  private bumps = 0
  private problem: string | undefined
  private refusals = 0
  private readonly startedAtMs: number

  constructor(modules: SendLoopModules, options: TxManagerOptions, crafted: CraftedTx) {
    this.modules = modules
    this.options = options
    this.tx = crafted.tx
    this.signed = crafted.signed
    this.sidecar = crafted.sidecar
    this.startedAtMs = modules.clock.now()
  }

  private get mined(): boolean {
    return this.minedIn !== undefined
  }

  /** The newest version, when the L1 may still hold one that is in no block. */
  get leftBehind(): L1Tx | undefined {
    return this.accepted && !this.mined ? this.tx : undefined
  }

  /** The L1's pool holds transactions of the other kind. */
  get isRefusedForKind(): boolean {
    return this.incompatibleType
  }

  /** Its nonce was used by a transaction that is none of its versions. */
  get lostItsNonce(): boolean {
    return this.nonceTooLowCount > 0 && !this.mined
  }

  get hashes(): readonly Hex[] {
    return this.versions
  }

  get status(): InFlightTx {
    const { tx } = this
    return {
      nonce: tx.nonce,
      hash: this.signed.hash,
      blobs: tx.blob?.versionedHashes.length ?? 0,
      startedAtMs: this.startedAtMs,
      bumps: this.bumps,
      tipWei: tx.maxPriorityFeePerGas,
      feeCapWei: tx.maxFeePerGas,
      blobFeeCapWei: tx.blob?.maxFeePerBlobGas,
      minedIn: this.minedIn,
      problem: this.problem,
    }
  }

  /** For people: the newest version and how far it came. */
  toString(): string {
    const place = this.minedIn === undefined ? 'not mined' : `in block ${this.minedIn}`
    return `${this.signed.hash} (nonce ${this.tx.nonce}, ${place})`
  }

  /** Resolves with the confirmed receipt. Rejects with TxError, or with the signal's reason when it aborts. */
  async run(signal: AbortSignal): Promise<TxReceipt> {
    const { clock, heads } = this.modules
    let publishAtMs = clock.now()
    let bumpAtMs = clock.now() + this.options.resubmissionTimeoutMs
    for (;;) {
      signal.throwIfAborted()
      if (!this.mined && clock.now() >= Math.min(publishAtMs, bumpAtMs)) {
        const resubmit = clock.now() >= bumpAtMs
        this.nonceGap = this.versions.length > 0 && (await this.standsAboveGap(signal))
        if (!this.nonceGap) await this.publish(resubmit && this.accepted, signal)
        if (resubmit) bumpAtMs = clock.now() + this.options.resubmissionTimeoutMs
        publishAtMs = clock.now() + this.pauseMs()
      }
      const { mined: wasMined } = this
      const { version } = heads
      const receipt = await this.confirmedReceipt(signal)
      if (receipt !== undefined) return receipt
      // A pool need not have taken it back in.
      if (wasMined && !this.mined) publishAtMs = clock.now()
      const problem = this.criticalProblem()
      if (problem !== undefined) throw new TxError('tx-aborted', `aborted tx send due to critical error: ${problem}`)
      const untilPublish = this.mined ? Number.POSITIVE_INFINITY : Math.min(publishAtMs, bumpAtMs) - clock.now()
      await heads.changed(version, Math.max(0, Math.min(this.options.receiptQueryIntervalMs, untilPublish)), signal)
    }
  }

  /** Looks twice: one of several machines behind an address may be a moment behind the others. */
  private async standsAboveGap(signal: AbortSignal): Promise<boolean> {
    const { clock, logger, metrics, missingNonceBelow } = this.modules
    const { nonce } = this.tx
    try {
      const missing = await missingNonceBelow(nonce, signal)
      if (missing === undefined) return false
      await sleep(clock, this.options.retryIntervalMs, signal)
      if ((await missingNonceBelow(nonce, signal)) !== missing) return false
      logger.warn('Transaction stands behind a nonce that the L1 does not have', { nonce, missing })
      return true
    } catch (error) {
      signal.throwIfAborted()
      metrics.rpcError()
      logger.debug('Unable to query the nonce', { nonce, err: error })
      return false
    }
  }

  /** Time until the next publication: growing up to the rebroadcast interval while the L1 takes nothing. */
  private pauseMs(): number {
    const { rebroadcastIntervalMs, retryIntervalMs } = this.options
    if (this.accepted) return rebroadcastIntervalMs
    const growing = retryIntervalMs * 2 ** Math.min(20, this.refusals++)
    return Math.min(growing, Math.max(retryIntervalMs, rebroadcastIntervalMs))
  }

  private async publish(bump: boolean, signal: AbortSignal): Promise<void> {
    const { l1, logger, metrics } = this.modules
    if (bump) await this.replace(signal)
    for (let attempt = 0; ; attempt++) {
      const fields = {
        tx: this.signed.hash,
        nonce: this.tx.nonce,
        gasTipCap: this.tx.maxPriorityFeePerGas,
        gasFeeCap: this.tx.maxFeePerGas,
        ...(this.tx.blob === undefined
          ? {}
          : { blobs: this.tx.blob.versionedHashes.length, blobFeeCap: this.tx.blob.maxFeePerBlobGas }),
      }
      logger.debug('Publishing transaction', fields)
      if (!this.versions.includes(this.signed.hash)) this.versions.push(this.signed.hash)
      try {
        await l1.sendRawTransaction(this.networkBytes(), signal)
        metrics.published()
        this.accepted = true
        this.problem = undefined
        logger.debug('Transaction successfully published', fields)
        return
      } catch (error) {
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
        return
      }
    }
  }

  private networkBytes(): Uint8Array {
    return this.sidecar === undefined ? this.signed.raw : networkForm(this.signed.raw, this.sidecar)
  }

  private notePublishProblem(problem: PublishProblem, error: unknown): void {
    const { logger } = this.modules
    const fields = { tx: this.signed.hash, nonce: this.tx.nonce, err: error }
    switch (problem) {
      case 'already-known':
        this.accepted = true
        logger.debug('Transaction is already known to the L1', fields)
        return
      case 'nonce-too-low':
        this.nonceTooLowCount++
        // After an accepted version this is most often our own transaction that was mined a moment ago.
        if (this.accepted) logger.debug('Nonce is used already', fields)
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

  /** Signs a version with higher fees; false when that is not possible now (the present version stays). */
  private async replace(signal: AbortSignal): Promise<boolean> {
    const { logger, metrics, signer } = this.modules
    const { blob } = this.tx
    const old: FeeCaps = {
      tip: this.tx.maxPriorityFeePerGas,
      feeCap: this.tx.maxFeePerGas,
      blobFeeCap: blob?.maxFeePerBlobGas,
    }
    try {
      const suggestion = await this.modules.suggestFees(blob === undefined ? 'calldata' : 'blobs', signal)
      const bumped = bumpFees(old, suggestion)
      checkFeeLimits(bumped, suggestion, this.options)
      const call = { from: signer.address, to: this.tx.to, data: this.tx.data }
      const estimated = await this.modules.l1.estimateGas(call, signal)
      const tx: L1Tx = {
        ...this.tx,
        maxPriorityFeePerGas: bumped.tip,
        maxFeePerGas: bumped.feeCap,
        gasLimit: larger(estimated, this.tx.gasLimit),
        ...(blob === undefined ? {} : { blob: { ...blob, maxFeePerBlobGas: bumped.blobFeeCap ?? 0n } }),
      }
      this.signed = await signer.signTransaction(tx)
      this.tx = tx
      this.bumps++
      metrics.bumped(this.bumps)
      logger.info('Bumping fees of transaction', {
        nonce: tx.nonce,
        gasTipCap: bumped.tip,
        gasFeeCap: bumped.feeCap,
        old_gasTipCap: old.tip,
        old_gasFeeCap: old.feeCap,
        ...(blob === undefined ? {} : { blobFeeCap: bumped.blobFeeCap, old_blobFeeCap: old.blobFeeCap }),
      })
      return true
    } catch (error) {
      signal.throwIfAborted()
      metrics.publishError('bump_failed')
      this.problem = `its fees cannot be raised: ${describeError(error)}`
      logger.warn('Unable to bump the fees of the transaction', { nonce: this.tx.nonce, err: error })
      return false
    }
  }

  private async confirmedReceipt(signal: AbortSignal): Promise<TxReceipt | undefined> {
    const { l1, logger, metrics } = this.modules
    let answer: Awaited<ReturnType<L1Endpoint['receipts']>>
    try {
      answer = await l1.receipts(this.versions, signal)
    } catch (error) {
      signal.throwIfAborted()
      metrics.rpcError()
      logger.debug('Unable to query receipts', { nonce: this.tx.nonce, err: error })
      return undefined
    }
    const receipt = answer.receipts.find((candidate) => candidate !== undefined)
    if (receipt === undefined) {
      if (this.mined) logger.warn('Transaction left the L1 chain', { nonce: this.tx.nonce })
      this.minedIn = undefined
      return undefined
    }
    if (!this.mined) {
      logger.debug('Transaction is in a block', { tx: receipt.transactionHash, block: receipt.blockNumber })
    }
    this.minedIn = receipt.blockNumber
    this.nonceTooLowCount = 0
    // The block of inclusion is the first confirmation.
    if (receipt.blockNumber + this.options.numConfirmations > answer.head + 1) return undefined
    metrics.confirmed(receipt, this.modules.clock.now() - this.startedAtMs)
    return receipt
  }

  private criticalProblem(): string | undefined {
    if (this.mined) return undefined
    if (this.nonceTooLowCount >= this.options.safeAbortNonceTooLowCount) return 'nonce too low'
    if (this.nonceTooLowCount > 0 && !this.accepted) return 'nonce too low'
    if (this.nonceTooHighCount > this.options.maxRetries) return 'nonce too high'
    if (!this.accepted && this.modules.clock.now() - this.startedAtMs >= this.options.notInMempoolTimeoutMs)
      return 'failed to get tx into the mempool'
    if (this.nonceGap) return 'nonce gap'
    if (this.incompatibleType) return 'address already reserved'
    return undefined
  }
}
