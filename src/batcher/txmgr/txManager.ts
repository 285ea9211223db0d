import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Kzg } from '../../lib/kzg/index.ts'
import type { Logger } from '../../lib/logger.ts'
import { retry } from '../../lib/retry.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import type { L1Heads } from '../l1/l1Heads.ts'
import { L1UnsupportedError, type SubmitterL1, type TxReceipt } from '../l1/submitterL1.ts'
import { BlobTips } from './blobTips.ts'
import { TxError } from './errors.ts'
import { blobFeeCapOf, calldataGas, FeeLimitError, type FeeSuggestion, feeCapOf, larger, type TxKind } from './fees.ts'
import { type ForeignTx, findTxByNonce } from './foreignTx.ts'
import type { TxManagerMetrics } from './metrics.ts'
import type { TxManagerOptions } from './options.ts'
import { type CancelStatus, PoolCleaner } from './poolCleaner.ts'
import { SendLoop } from './sendLoop.ts'
import { type BlobSidecar, createSidecar, wantsCellProofs } from './sidecar.ts'
import type { TxSigner } from './signer.ts'
import type { L1Tx } from './transaction.ts'
import type { CraftedTx, InFlightTx } from './types.ts'

/** What is to be on L1; fees, gas and nonce are the manager's. */
export interface TxCandidate {
  to: Hex
  data: Uint8Array
  /** Of 131,072 bytes each; the transaction is one of EIP-4844 when there are any. */
  blobs?: readonly Uint8Array[]
}

export interface TxManagerModules {
  l1: SubmitterL1
  heads: Pick<L1Heads, 'version' | 'changed'>
  signer: TxSigner
  /** Needed for candidates with blobs. */
  kzg: Pick<Kzg, 'commitments' | 'blobProofs' | 'cellProofs'>
  clock: Clock
  logger: Logger
  metrics: TxManagerMetrics
  /** Called when a transaction that this program did not send used up the nonce of one of its own. */
  onForeign?: (tx: ForeignTx) => void
}

/** Hashes remembered of transactions whose sends have ended. */
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
 * Sends transactions of one account and sees each one confirmed. Nonces follow the order of the `send` calls, however
 * long each takes to be made.
 */
export class TxManager {
  private readonly modules: TxManagerModules
  private readonly options: TxManagerOptions
  private readonly chainId: bigint
  private readonly blobTips: BlobTips
  /** The form of proofs that the L1 took when it refused the other; undefined: its forks tell. */
  private cellProofs: boolean | undefined
  private nextNonce: number | undefined
  /** By nonce: the sends that have a transaction and no outcome yet; undefined until they are published. */
  private readonly inFlight = new Map<number, SendLoop | undefined>()
  private crafting: Promise<unknown> = Promise.resolve()
  /** Changes with each failure. */
  private order = 0
  /** Transactions of failed sends that the L1's pool may still hold, by nonce. */
  private readonly leftBehind = new Map<number, L1Tx>()
  private cleaning: Promise<void> | undefined
  private cleaner: PoolCleaner | undefined
  private craftProblem: string | undefined
  /** Of sends that have ended: a version that was given up may still be mined. */
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

  /** What is sent and not confirmed, by nonce. */
  get sending(): InFlightTx[] {
    const loops = [...this.inFlight.values()].filter((loop) => loop !== undefined)
    return loops.map((loop) => loop.status).sort((a, b) => a.nonce - b.nonce)
  }

  /** What stands in the L1's pool and is being replaced by empty transactions; undefined: nothing. */
  get cancelling(): CancelStatus | undefined {
    return this.cleaner?.status
  }

  /** Why the next transaction cannot be made now; undefined: it can, or there is none. */
  get problem(): string | undefined {
    return this.craftProblem
  }

  /** Live values; assigning one takes effect with the next use. */
  get tunables(): TunableTxManagerOptions {
    return this.options
  }

  /** Nothing is sent or waited for any more. What was published stays in the L1's pool: the next start finds it. */
  close(): void {
    this.giveUp.abort(new TxError('txmgr-closed', 'transaction manager is closed'))
  }

  get isClosed(): boolean {
    return this.giveUp.signal.aborted
  }

  /**
   * Resolves with the receipt once it has enough confirmations. A transaction's own success is not looked at: batches
   * count by being included. Rejects with TxError, or the reason of `signal`.
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
    let nonce: number | undefined
    let loop: SendLoop | undefined
    try {
      const crafted = await this.craftInOrder(candidate, bounded)
      nonce = crafted.tx.nonce
      loop = this.createLoop(crafted)
      const receipt = await loop.run(bounded)
      for (const known of this.leftBehind.keys()) if (known <= nonce) this.leftBehind.delete(known)
      return receipt
    } catch (error) {
      this.noteFailure(error)
      this.modules.metrics.failed()
      if (loop?.leftBehind !== undefined && nonce !== undefined) this.leftBehind.set(nonce, loop.leftBehind)
      if (nonce !== undefined && loop?.lostItsNonce) await this.lookForForeign(nonce, loop, bounded)
      if (loop?.isRefusedForKind) await this.clean(candidate.blobs === undefined ? 'blobs' : 'calldata', bounded)
      throw error
    } finally {
      if (nonce !== undefined) this.inFlight.delete(nonce)
      if (loop !== undefined) this.remember(loop.hashes)
      cancelTimer()
      this.modules.metrics.pending(--this.pendingCount)
    }
  }

  /**
   * Replaces what the L1's pool holds of the account by empty transactions, and resolves when there is nothing left. No
   * send may be under way. Rejects with the reason of `signal`.
   */
  async cancelPending(signal: AbortSignal): Promise<void> {
    const newest = [...this.leftBehind.values()].at(-1)
    await this.clean(newest?.blob === undefined ? 'calldata' : 'blobs', AbortSignal.any([signal, this.giveUp.signal]))
  }

  private async lookForForeign(nonce: number, loop: SendLoop, signal: AbortSignal): Promise<void> {
    const { l1, signer, logger, onForeign } = this.modules
    if (onForeign === undefined) return
    try {
      const found = await findTxByNonce(l1, signer.address, nonce, signal)
      if (found !== undefined && !loop.hashes.includes(found.hash) && !this.isOwn(found.hash)) onForeign(found)
    } catch (error) {
      if (!signal.aborted) logger.debug('Unable to look for the transaction that took a nonce', { nonce, err: error })
    }
  }

  private isOwn(hash: Hex): boolean {
    return this.ownHashes.includes(hash)
  }

  private remember(hashes: readonly Hex[]): void {
    this.ownHashes = [...this.ownHashes, ...hashes].slice(-MAX_OWN_HASHES)
  }

  /** Several sends that are refused for the same reason wait for one cleaning. */
  private clean(kind: TxKind, signal: AbortSignal): Promise<void> {
    const nonces = new Set<number>()
    if (this.cleaning !== undefined) return this.cleaning
    this.cleaner = this.createCleaner(nonces)
    this.cleaning = this.cleaner
      .clean(this.leftBehind, kind, signal)
      .then(() => this.leftBehind.clear())
      .finally(() => {
        this.cleaning = undefined
        this.cleaner = undefined
        for (const nonce of nonces) {
          this.remember(this.inFlight.get(nonce)?.hashes ?? [])
          this.inFlight.delete(nonce)
        }
        this.forgetNonces()
      })
    return this.cleaning
  }

  private createCleaner(nonces: Set<number>): PoolCleaner {
    return new PoolCleaner(
      {
        ...this.modules,
        chainId: this.chainId,
        suggestFees: (txKind, signal) => this.suggestFees(txKind, undefined, signal),
        createSidecar: (blobs) => this.sidecarOf(blobs),
        createLoop: (crafted) => {
          nonces.add(crafted.tx.nonce)
          return this.createLoop(crafted)
        },
      },
      this.options,
    )
  }

  private createLoop(crafted: CraftedTx): SendLoop {
    const loop = new SendLoop(
      {
        ...this.modules,
        suggestFees: (kind, signal) => this.suggestFees(kind, undefined, signal),
        proveAgain: (sidecar, isRefused) => this.proveAgain(sidecar, isRefused),
        missingNonceBelow: (ownNonce, signal) => this.missingNonceBelow(ownNonce, signal),
      },
      this.options,
      crafted,
    )
    this.inFlight.set(crafted.tx.nonce, loop)
    return loop
  }

  /**
   * Which nonces the L1 has seen is not known any more: the next send asks it. Sends that were asked for before and have
   * no nonce yet fail, or they would take that of the one that has failed.
   */
  private noteFailure(error: unknown): void {
    if (!(error instanceof TxError && error.code === 'tx-predecessor')) this.forgetNonces()
  }

  private forgetNonces(): void {
    this.nextNonce = undefined
    this.order++
  }

  private craftInOrder(candidate: TxCandidate, signal: AbortSignal): Promise<CraftedTx> {
    // The proofs of several are computed beside each other, before each gets its nonce.
    const sidecar = this.createSidecar(candidate)
    sidecar.catch(() => {})
    const { order } = this
    const crafted = this.crafting.then(() => {
      if (order !== this.order) throw new TxError('tx-predecessor', 'a transaction that comes before this one failed')
      return this.craft(candidate, sidecar, signal)
    })
    this.crafting = crafted.catch((error) => this.noteFailure(error))
    return crafted
  }

  private async createSidecar({ blobs = [] }: TxCandidate): Promise<BlobSidecar | undefined> {
    return blobs.length === 0 ? undefined : this.sidecarOf(blobs)
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
          this.craftProblem = describeError(error)
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
    const suggestion = await this.suggestFees(kind, { to, data, from: signer.address, gasLimit }, signal)
    if (sidecar !== undefined && suggestion.blobBaseFee === undefined)
      throw new L1UnsupportedError('l1-unsupported', 'the L1 takes no blobs: it does not know eth_blobBaseFee')
    const nonce = this.nextNonce ?? (await l1.nonceAt(signer.address, 'latest', signal))
    const tx: L1Tx = {
      chainId: this.chainId,
      nonce,
      maxPriorityFeePerGas: suggestion.tip,
      maxFeePerGas: feeCapOf(suggestion),
      gasLimit,
      to,
      value: 0n,
      data,
      ...(sidecar === undefined
        ? {}
        : {
            blob: { maxFeePerBlobGas: blobFeeCapOf(suggestion), versionedHashes: sidecar.versionedHashes },
          }),
    }
    const signed = await signer.signTransaction(tx)
    // Only a signed transaction uses its nonce up.
    this.nextNonce = nonce + 1
    this.craftProblem = undefined
    this.inFlight.set(nonce, undefined)
    metrics.nonce(this.nextNonce)
    return { tx, signed, sidecar }
  }

  /**
   * The first nonce below `nonce` that neither the L1 has nor a send in flight will bring. After an L1 reorg that
   * dropped confirmed transactions there is one, and nothing above it can be mined.
   */
  private async missingNonceBelow(nonce: number, signal: AbortSignal): Promise<number | undefined> {
    const { l1, signer } = this.modules
    let missing = await l1.nonceAt(signer.address, 'pending', signal)
    while (missing < nonce && this.inFlight.has(missing)) missing++
    return missing < nonce ? missing : undefined
  }

  private async suggestFees(
    kind: TxKind,
    call: Parameters<SubmitterL1['suggestFees']>[0],
    signal: AbortSignal,
  ): Promise<FeeSuggestion> {
    const { minTipCapWei, minBaseFeeWei, maxTipCapWei, maxBaseFeeWei, minBlobFeeWei } = this.options
    const asked = await this.modules.l1.suggestFees(call, signal)
    this.modules.metrics.suggested(asked)
    let tip = larger(asked.tip, minTipCapWei)
    if (kind === 'blobs' && this.options.blobTipCapDynamic) {
      tip = (await this.blobTips.suggest(minTipCapWei, signal)) ?? tip
      this.modules.metrics.blobTip(tip)
    }
    if (maxTipCapWei !== 0n && tip > maxTipCapWei)
      throw new FeeLimitError(`tip is too high: ${tip}, cap: ${maxTipCapWei}`)
    if (maxBaseFeeWei !== 0n && asked.baseFee > maxBaseFeeWei)
      throw new FeeLimitError(`base fee is too high: ${asked.baseFee}, cap: ${maxBaseFeeWei}`)
    return {
      tip,
      baseFee: larger(asked.baseFee, minBaseFeeWei),
      blobBaseFee: asked.blobBaseFee,
      minBlobFeeCap: minBlobFeeWei,
    }
  }
}
