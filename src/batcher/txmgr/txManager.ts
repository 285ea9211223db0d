import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Kzg } from '../../lib/kzg/index.ts'
import type { Logger } from '../../lib/logger.ts'
import { retry } from '../../lib/retry.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import type { L1Heads } from '../l1/l1Heads.ts'
import { type CallRequest, L1UnsupportedError, type SubmitterL1, type TxReceipt } from '../l1/submitterL1.ts'
import { BlobTips } from './blobTips.ts'
import { TxError } from './errors.ts'
import { calldataGas, FeeLimitError, type FeeSuggestion, firstFees, larger, type TxKind } from './fees.ts'
import { type ForeignTx, findTxByNonce } from './foreignTx.ts'
import type { TxManagerMetrics } from './metrics.ts'
import type { TxManagerOptions } from './options.ts'
import { type CancelStatus, PoolCleaner } from './poolCleaner.ts'
import { SendLoop } from './sendLoop.ts'
import { type BlobSidecar, createSidecar, wantsCellProofs } from './sidecar.ts'
import type { TxSigner } from './signer.ts'
import type { L1Tx } from './transaction.ts'
import type { CraftedTx, InFlightTx } from './types.ts'

/** The content of a transaction. The manager sets fees, gas and nonce. */
export interface TxCandidate {
  to: Hex
  data: Uint8Array
  /** 131,072 bytes each. With blobs, the transaction is of type EIP-4844. */
  blobs?: readonly Uint8Array[]
}

export interface TxManagerModules {
  l1: SubmitterL1
  heads: Pick<L1Heads, 'version' | 'changed'>
  signer: TxSigner
  /** Used for candidates with blobs. */
  kzg: Pick<Kzg, 'commitments' | 'blobProofs' | 'cellProofs'>
  clock: Clock
  logger: Logger
  metrics: TxManagerMetrics
  /** Called if another program's transaction used the nonce of one of ours. */
  onForeign?: (tx: ForeignTx) => void
}

/** Number of hashes kept of transactions whose sends have ended. */
const MAX_OWN_HASHES = 1_000

/** Values that the `txmgr` RPC namespace may change while the manager runs. */
export type TunableTxManagerOptions = Pick<
  TxManagerOptions,
  | 'minBaseFeeWei'
  | 'minTipCapWei'
  | 'minBlobFeeWei'
  | 'blobTipCapDynamic'
  | 'feeLimitThresholdWei'
  | 'resubmissionTimeoutMs'
  | 'rebroadcastIntervalMs'
>

/**
 * Sends transactions of one account and waits for their confirmation. Nonces follow the order of the `send` calls,
 * however long it takes to create each transaction.
 */
export class TxManager {
  private readonly modules: TxManagerModules
  private readonly options: TxManagerOptions
  private readonly chainId: bigint
  private readonly blobTips: BlobTips
  /** The proof form that the L1 accepted after it refused the other one. Undefined: the fork time decides. */
  private cellProofs: boolean | undefined
  private nextNonce: number | undefined
  /** Sends without an outcome, by nonce. */
  private readonly inFlight = new Map<number, SendLoop>()
  private crafting: Promise<unknown> = Promise.resolve()
  /** Incremented with each failure. */
  private order = 0
  /** Transactions of failed sends that the L1's pool may still hold, by nonce. */
  private readonly leftBehind = new Map<number, L1Tx>()
  private cleaning: Promise<void> | undefined
  private cleaner: PoolCleaner | undefined
  /** Why the next transaction cannot be created now. Undefined if it can, or if there is none. */
  problem: string | undefined
  /** Hashes of ended sends. A version of an abandoned send may still be mined. */
  private ownHashes: readonly Hex[] = []
  private pendingCount = 0
  private readonly giveUp = new AbortController()

  constructor(modules: TxManagerModules, options: TxManagerOptions & { chainId: bigint }) {
    this.modules = modules
    const { chainId, ...rest } = options
    this.options = rest
    this.chainId = chainId
    this.blobTips = new BlobTips(modules, options)
  }

  get from(): Hex {
    return this.modules.signer.address
  }

  /** Unconfirmed transactions, by nonce. */
  get sending(): InFlightTx[] {
    return [...this.inFlight.values()].map((loop) => loop.status).sort((a, b) => a.nonce - b.nonce)
  }

  /** Pool transactions that are being replaced by empty ones. Undefined if there are none. */
  get cancelling(): CancelStatus | undefined {
    return this.cleaner?.status
  }

  /** Live values: an assignment takes effect with the next use. */
  get tunables(): TunableTxManagerOptions {
    return this.options
  }

  /**
   * Ends all sends without waiting for confirmations. Published transactions stay in the L1's pool: the next start
   * finds them.
   */
  close(): void {
    this.giveUp.abort(new TxError('txmgr-closed', 'transaction manager is closed'))
  }

  get isClosed(): boolean {
    return this.giveUp.signal.aborted
  }

  /**
   * Resolves with the receipt once it has enough confirmations. The transaction's own success does not matter: a batch
   * only has to be included. Rejects with TxError, or with the signal's reason.
   */
  async send(candidate: TxCandidate, signal: AbortSignal): Promise<TxReceipt> {
    this.giveUp.signal.throwIfAborted()
    const { sendTimeoutMs } = this.options
    const timeout = new AbortController()
    const cancelTimer =
      sendTimeoutMs === 0
        ? () => {}
        : this.modules.clock.setTimeout(
            () => timeout.abort(new TxError('tx-timeout', `transaction was not confirmed within ${sendTimeoutMs} ms`)),
            sendTimeoutMs,
          )
    const bounded = AbortSignal.any([signal, timeout.signal, this.giveUp.signal])
    this.modules.metrics.pending(++this.pendingCount)
    let loop: SendLoop | undefined
    try {
      loop = this.createLoop(await this.craftInOrder(candidate, bounded))
      const receipt = await loop.run(bounded)
      for (const known of this.leftBehind.keys()) if (known <= loop.nonce) this.leftBehind.delete(known)
      return receipt
    } catch (error) {
      this.noteFailure(error)
      this.modules.metrics.failed()
      if (loop?.leftBehind !== undefined) this.leftBehind.set(loop.nonce, loop.leftBehind)
      if (loop?.lostItsNonce) await this.findForeign(loop, bounded)
      if (loop?.isRefusedForKind) await this.clean(candidate.blobs === undefined ? 'blobs' : 'calldata', bounded)
      throw error
    } finally {
      if (loop !== undefined) this.forget(loop.nonce)
      cancelTimer()
      this.modules.metrics.pending(--this.pendingCount)
    }
  }

  /**
   * Replaces the account's transactions in the L1's pool by empty ones. Resolves when none is left. No send may be in
   * flight. Rejects with the signal's reason.
   */
  async cancelPending(signal: AbortSignal): Promise<void> {
    const newest = [...this.leftBehind.values()].at(-1)
    await this.clean(
      newest?.blobHashes === undefined ? 'calldata' : 'blobs',
      AbortSignal.any([signal, this.giveUp.signal]),
    )
  }

  private async findForeign({ nonce, hashes }: SendLoop, signal: AbortSignal): Promise<void> {
    const { l1, signer, logger, onForeign } = this.modules
    if (onForeign === undefined) return
    try {
      const found = await findTxByNonce(l1, signer.address, nonce, signal)
      const own = [...hashes, ...this.ownHashes]
      if (found !== undefined && !own.includes(found.hash)) onForeign(found)
    } catch (error) {
      if (!signal.aborted) logger.debug('Failed to find the transaction that used the nonce', { nonce, err: error })
    }
  }

  private forget(nonce: number): void {
    const { hashes = [] } = this.inFlight.get(nonce) ?? {}
    this.inFlight.delete(nonce)
    this.ownHashes = [...this.ownHashes, ...hashes].slice(-MAX_OWN_HASHES)
  }

  /** Sends that are refused for the same reason share one cleaning. */
  private clean(kind: TxKind, signal: AbortSignal): Promise<void> {
    if (this.cleaning !== undefined) return this.cleaning
    this.cleaner = new PoolCleaner(
      {
        ...this.modules,
        chainId: this.chainId,
        suggestFees: (txKind, ended) => this.suggestFees(txKind, ended),
        createSidecar: (blobs) => this.sidecarOf(blobs),
        createLoop: (crafted) => this.createLoop(crafted),
        ended: (nonce) => this.forget(nonce),
      },
      this.options,
    )
    this.cleaning = this.cleaner
      .clean(this.leftBehind, kind, signal)
      .then(() => this.leftBehind.clear())
      .finally(() => {
        this.cleaning = undefined
        this.cleaner = undefined
        this.forgetNonces()
      })
    return this.cleaning
  }

  private createLoop(crafted: CraftedTx): SendLoop {
    const loop = new SendLoop(
      {
        ...this.modules,
        suggestFees: (kind, signal) => this.suggestFees(kind, signal),
        proveAgain: (sidecar, isRefused) => this.proveAgain(sidecar, isRefused),
        missingNonceBelow: (ownNonce, signal) => this.missingNonceBelow(ownNonce, signal),
      },
      this.options,
      crafted,
    )
    // A failed cancellation keeps its nonce until its next try.
    this.forget(loop.nonce)
    this.inFlight.set(loop.nonce, loop)
    return loop
  }

  /**
   * After a failure, it is unknown which nonces the L1 has seen, so the next send requests the nonce again. Earlier
   * sends without a nonce fail: they would take the nonce of the failed one.
   */
  private noteFailure(error: unknown): void {
    if (!(error instanceof TxError && error.code === 'tx-predecessor')) this.forgetNonces()
  }

  private forgetNonces(): void {
    this.nextNonce = undefined
    this.order++
  }

  private craftInOrder(candidate: TxCandidate, signal: AbortSignal): Promise<CraftedTx> {
    // Proofs of several sends are computed concurrently, before each send gets its nonce.
    const sidecar = candidate.blobs === undefined ? Promise.resolve(undefined) : this.sidecarOf(candidate.blobs)
    sidecar.catch(() => {})
    const { order } = this
    const crafted = this.crafting.then(() => {
      if (order !== this.order) throw new TxError('tx-predecessor', 'an earlier transaction failed')
      return this.craft(candidate, sidecar, signal)
    })
    this.crafting = crafted.catch((error) => this.noteFailure(error))
    return crafted
  }

  private sidecarOf(blobs: readonly Uint8Array[]): Promise<BlobSidecar> {
    return createSidecar(this.modules.kzg, blobs, { cellProofs: this.wantsCellProofs })
  }

  private get wantsCellProofs(): boolean {
    const { chainId, options, modules } = this
    return this.cellProofs ?? wantsCellProofs(chainId, options.cellProofTime, unixSeconds(modules.clock))
  }

  private async proveAgain(sidecar: BlobSidecar, isRefused: boolean): Promise<BlobSidecar> {
    if (isRefused) this.cellProofs = sidecar.version === 0
    return (sidecar.version === 1) === this.wantsCellProofs ? sidecar : this.sidecarOf(sidecar.blobs)
  }

  private async craft(
    candidate: TxCandidate,
    sidecar: Promise<BlobSidecar | undefined>,
    signal: AbortSignal,
  ): Promise<CraftedTx> {
    const { clock, logger, metrics } = this.modules
    try {
      const proven = await untilAborted(sidecar, signal)
      return await retry(() => this.craftOnce(candidate, proven, signal), {
        clock,
        signal,
        tries: this.options.maxRetries,
        backoff: () => this.options.retryIntervalMs,
        shouldRetry: (error) => !(error instanceof L1UnsupportedError),
        onRetry: (error) => {
          metrics.rpcError()
          this.problem = describeError(error)
          logger.warn('Failed to create a transaction, will retry', { err: error })
        },
      })
    } catch (error) {
      signal.throwIfAborted()
      throw new TxError('tx-craft', `failed to create the tx: ${describeError(error)}`, error)
    }
  }

  private async craftOnce(
    { to, data }: TxCandidate,
    sidecar: BlobSidecar | undefined,
    signal: AbortSignal,
  ): Promise<CraftedTx> {
    const { l1, signer, metrics } = this.modules
    const gasLimit = calldataGas(data)
    const kind = sidecar === undefined ? 'calldata' : 'blobs'
    const suggestion = await this.suggestFees(kind, signal, { to, data, from: signer.address, gasLimit })
    if (sidecar !== undefined && suggestion.blobBaseFee === undefined)
      throw new L1UnsupportedError(
        'l1-unsupported',
        'the L1 does not support blobs: it does not serve eth_blobBaseFee. Use --data-availability-type calldata',
      )
    const nonce = this.nextNonce ?? (await l1.nonceAt(signer.address, 'latest', signal))
    const tx: L1Tx = {
      chainId: this.chainId,
      nonce,
      fees: firstFees(suggestion, kind),
      gasLimit,
      to,
      data,
      blobHashes: sidecar?.versionedHashes,
    }
    const signed = await signer.signTransaction(tx)
    // Only a signed transaction uses its nonce.
    this.nextNonce = nonce + 1
    this.problem = undefined
    metrics.nonce(this.nextNonce)
    return { tx, signed, sidecar }
  }

  /**
   * The lowest nonce below `nonce` that neither the L1 nor a send in flight has. An L1 reorg that drops confirmed
   * transactions leaves such a gap, and nothing above it can be mined.
   */
  private async missingNonceBelow(nonce: number, signal: AbortSignal): Promise<number | undefined> {
    const { l1, signer } = this.modules
    let missing = await l1.nonceAt(signer.address, 'pending', signal)
    while (this.inFlight.has(missing)) missing++
    return missing < nonce ? missing : undefined
  }

  private async suggestFees(kind: TxKind, signal: AbortSignal, call?: CallRequest): Promise<FeeSuggestion> {
    const { minTipCapWei, minBaseFeeWei, maxTipCapWei, maxBaseFeeWei, minBlobFeeWei } = this.options
    const suggested = await this.modules.l1.suggestFees(call, signal)
    this.modules.metrics.suggested(suggested)
    let tip = larger(suggested.tip, minTipCapWei)
    if (kind === 'blobs' && this.options.blobTipCapDynamic) {
      tip = (await this.blobTips.suggest(minTipCapWei, signal)) ?? tip
      this.modules.metrics.blobTip(tip)
    }
    if (maxTipCapWei !== 0n && tip > maxTipCapWei)
      throw new FeeLimitError(`the tip of ${tip} wei is above ${maxTipCapWei} wei (--txmgr.max-tip-cap)`)
    if (maxBaseFeeWei !== 0n && suggested.baseFee > maxBaseFeeWei)
      throw new FeeLimitError(
        `the L1's base fee of ${suggested.baseFee} wei is above ${maxBaseFeeWei} wei (--txmgr.max-basefee)`,
      )
    return {
      tip,
      baseFee: larger(suggested.baseFee, minBaseFeeWei),
      blobBaseFee: suggested.blobBaseFee,
      minBlobFeeCap: minBlobFeeWei,
    }
  }
}
