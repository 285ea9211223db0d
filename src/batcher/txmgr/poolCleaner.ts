import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { encodeBlob } from '../../rollup/protocol/index.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import { blobFeeCapOf, bumpFees, calldataGas, type FeeCaps, type FeeSuggestion, feeCapOf, type TxKind } from './fees.ts'
import type { TxManagerOptions } from './options.ts'
import type { SendLoop } from './sendLoop.ts'
import type { BlobSidecar } from './sidecar.ts'
import type { TxSigner } from './signer.ts'
import type { L1Tx } from './transaction.ts'
import type { CraftedTx } from './types.ts'

export interface PoolCleanerModules {
  l1: Pick<SubmitterL1, 'nonceAt' | 'pendingTx'>
  signer: TxSigner
  clock: Clock
  logger: Logger
  chainId: bigint
  suggestFees: (kind: TxKind, signal: AbortSignal) => Promise<FeeSuggestion>
  createSidecar: (blobs: readonly Uint8Array[]) => Promise<BlobSidecar>
  createLoop: (crafted: CraftedTx) => SendLoop
}

/** Transactions that are being replaced by empty ones, for operators. */
export interface CancelStatus {
  nonces: readonly number[]
  startedAtMs: number
  problem: string | undefined
}

/** A blob must not be empty. This byte is the derivation version of a batch without frames. */
const EMPTY_BLOB_DATA = Uint8Array.of(0)

/**
 * Replaces the account's transactions in the L1's pool by empty ones to the account itself. The kind (blob or not)
 * stays the same: a pool refuses the other kind. A transaction that is mined before its replacement needs none.
 */
export class PoolCleaner {
  private readonly modules: PoolCleanerModules
  private readonly options: Pick<TxManagerOptions, 'receiptQueryIntervalMs' | 'retryIntervalMs'>
  private readonly warnings: RepeatedWarnings
  private readonly startedAtMs: number
  private nonces: readonly number[] = []
  private problem: string | undefined

  constructor(
    modules: PoolCleanerModules,
    options: Pick<TxManagerOptions, 'receiptQueryIntervalMs' | 'retryIntervalMs'>,
  ) {
    this.modules = modules
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
    this.startedAtMs = modules.clock.now()
  }

  get status(): CancelStatus {
    const { nonces, startedAtMs, problem } = this
    return { nonces, startedAtMs, problem }
  }

  /**
   * Resolves when all nonces that the pool held are used. While L1 requests fail, it logs warnings and retries. Rejects
   * with the signal's reason.
   *
   * @param known transactions of ours that may be in the pool, by nonce
   * @param kind kind of the transactions that are neither in `known` nor found in the pool
   */
  async clean(known: ReadonlyMap<number, L1Tx>, kind: TxKind, signal: AbortSignal): Promise<void> {
    const { clock, logger, signer } = this.modules
    const done = new AbortController()
    const stop = AbortSignal.any([signal, done.signal])
    const started = new Map<number, Promise<void>>()
    try {
      for (;;) {
        signal.throwIfAborted()
        const range = await this.pendingRange(known, signal)
        if (range !== undefined && range.start >= range.end) return
        if (range !== undefined)
          this.nonces = Array.from({ length: range.end - range.start }, (_, index) => range.start + index)
        for (let nonce = range?.start ?? 0; nonce < (range?.end ?? 0); nonce++) {
          if (started.has(nonce)) continue
          logger.info('sending a cancellation transaction to unblock txpool', { from: signer.address, nonce })
          started.set(nonce, this.cancel(nonce, known.get(nonce), kind, stop))
        }
        await sleep(clock, Math.min(this.options.receiptQueryIntervalMs, 1_000), signal)
      }
    } finally {
      done.abort()
      await Promise.all(started.values())
    }
  }

  private async pendingRange(
    known: ReadonlyMap<number, L1Tx>,
    signal: AbortSignal,
  ): Promise<{ start: number; end: number } | undefined> {
    const { l1, signer } = this.modules
    try {
      const start = await l1.nonceAt(signer.address, 'latest', signal)
      const pending = await l1.nonceAt(signer.address, 'pending', signal)
      return { start, end: Math.max(pending, ...[...known.keys()].map((nonce) => nonce + 1)) }
    } catch (error) {
      signal.throwIfAborted()
      this.problem = describeError(error)
      this.warnings.warn("Failed to read the account's pending nonce from the L1", error)
      return undefined
    }
  }

  /** Retries until the signal aborts, which happens when the nonce is used. Never rejects. */
  private async cancel(nonce: number, known: L1Tx | undefined, kind: TxKind, signal: AbortSignal): Promise<void> {
    const { createLoop, clock } = this.modules
    while (!signal.aborted) {
      try {
        await createLoop(await this.craft(nonce, known, kind, signal)).run(signal)
        return
      } catch (error) {
        if (signal.aborted) return
        this.problem = describeError(error)
        this.warnings.warn('Failed to replace a transaction by an empty one, retrying', error)
        await sleep(clock, this.options.retryIntervalMs, signal).catch(() => {})
      }
    }
  }

  private async craft(nonce: number, known: L1Tx | undefined, kind: TxKind, signal: AbortSignal): Promise<CraftedTx> {
    const { l1, signer, chainId, suggestFees, createSidecar } = this.modules
    const old = known === undefined ? await l1.pendingTx(signer.address, nonce, signal) : feesOf(known)
    const isBlob = old === undefined ? kind === 'blobs' : old.blobFeeCap !== undefined
    const sidecar = isBlob ? await createSidecar([encodeBlob(EMPTY_BLOB_DATA)]) : undefined
    const suggestion = await suggestFees(isBlob ? 'blobs' : 'calldata', signal)
    const fees: FeeCaps =
      old === undefined
        ? {
            tip: suggestion.tip,
            feeCap: feeCapOf(suggestion),
            ...(isBlob ? { blobFeeCap: blobFeeCapOf(suggestion) } : {}),
          }
        : bumpFees(old, suggestion)
    const to: Hex = signer.address
    const tx: L1Tx = {
      chainId,
      nonce,
      maxPriorityFeePerGas: fees.tip,
      maxFeePerGas: fees.feeCap,
      gasLimit: calldataGas(EMPTY_BYTES),
      to,
      value: 0n,
      data: EMPTY_BYTES,
      ...(sidecar === undefined
        ? {}
        : { blob: { maxFeePerBlobGas: fees.blobFeeCap ?? 0n, versionedHashes: sidecar.versionedHashes } }),
    }
    return { tx, signed: await signer.signTransaction(tx), sidecar }
  }
}

function feesOf(tx: L1Tx): FeeCaps {
  return { tip: tx.maxPriorityFeePerGas, feeCap: tx.maxFeePerGas, blobFeeCap: tx.blob?.maxFeePerBlobGas }
}
