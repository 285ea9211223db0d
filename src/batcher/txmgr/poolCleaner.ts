import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { retry } from '../../lib/retry.ts'
import { encodeBlob } from '../../rollup/protocol/index.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import { bumpFees, calldataGas, type FeeSuggestion, firstFees, type TxKind } from './fees.ts'
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
  createLoop: (crafted: CraftedTx) => Pick<SendLoop, 'run'>
  /** Called when the nonce needs no further replacement. */
  ended: (nonce: number) => void
}

/** Transactions that are being replaced by empty ones, for operators. */
export interface CancelStatus {
  nonces: readonly number[]
  startedAtMs: number
  problem: string | undefined
}

/** Maximum number of pool transactions that L1 can name. A wrong answer may name any number. */
const MAX_NONCES = 64
/** A blob must not be empty. This byte is the derivation version of a batch without frames. */
const EMPTY_BLOB_DATA = Uint8Array.of(0)

/**
 * Replaces the account's transactions in the L1's pool by empty ones to the account itself. The kind (blob or not)
 * stays the same: a pool refuses the other kind. A transaction that is mined before its replacement needs none.
 */
export class PoolCleaner {
  private readonly modules: PoolCleanerModules
  private readonly options: TxManagerOptions
  private readonly warnings: RepeatedWarnings
  private readonly startedAtMs: number
  private nonces: readonly number[] = []
  /** Why the last try failed, by nonce. */
  private readonly problems = new Map<number | 'reading', string>()

  constructor(modules: PoolCleanerModules, options: TxManagerOptions) {
    this.modules = modules
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
    this.startedAtMs = modules.clock.now()
  }

  get status(): CancelStatus {
    const { nonces, startedAtMs, problems } = this
    return { nonces, startedAtMs, problem: [...problems.values()].at(-1) }
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
    const stops = new Map<number, AbortController>()
    const cancelled: Promise<void>[] = []
    try {
      for (;;) {
        this.nonces = await this.pendingNonces(known, signal)
        for (const [nonce, stop] of stops) {
          if (this.nonces.includes(nonce)) continue
          stop.abort()
          stops.delete(nonce)
        }
        if (this.nonces.length === 0) return
        for (const nonce of this.nonces) {
          if (stops.has(nonce)) continue
          logger.info('sending a cancellation transaction to unblock txpool', { from: signer.address, nonce })
          const stop = new AbortController()
          stops.set(nonce, stop)
          cancelled.push(this.cancel(nonce, known.get(nonce), kind, AbortSignal.any([signal, stop.signal])))
        }
        await sleep(clock, Math.min(this.options.receiptQueryIntervalMs, 1_000), signal)
      }
    } finally {
      await Promise.all(cancelled)
    }
  }

  private pendingNonces(known: ReadonlyMap<number, L1Tx>, signal: AbortSignal): Promise<number[]> {
    const { l1, signer } = this.modules
    const read = async () => {
      const start = await l1.nonceAt(signer.address, 'latest', signal)
      const pending = await l1.nonceAt(signer.address, 'pending', signal)
      const end = Math.max(Math.min(pending, start + MAX_NONCES), ...[...known.keys()].map((nonce) => nonce + 1))
      this.problems.delete('reading')
      return Array.from({ length: Math.max(0, end - start) }, (_, index) => start + index)
    }
    return this.retrying(read, 'reading', "Failed to read the account's pending nonce from the L1", signal)
  }

  /** Retries until the signal aborts, which happens when the nonce is used. Never rejects. */
  private async cancel(nonce: number, known: L1Tx | undefined, kind: TxKind, signal: AbortSignal): Promise<void> {
    const { createLoop, ended } = this.modules
    const replace = async () => {
      const crafted = await this.craft(nonce, known, kind, signal)
      this.problems.delete(nonce)
      await createLoop(crafted).run(signal)
    }
    const warning = 'Failed to replace a transaction by an empty one, retrying'
    await this.retrying(replace, nonce, warning, signal).catch(() => {})
    this.problems.delete(nonce)
    ended(nonce)
  }

  private retrying<T>(
    operation: () => Promise<T>,
    part: number | 'reading',
    warning: string,
    signal: AbortSignal,
  ): Promise<T> {
    return retry(operation, {
      clock: this.modules.clock,
      signal,
      backoff: () => this.options.retryIntervalMs,
      onRetry: (error) => {
        this.problems.set(part, describeError(error))
        this.warnings.warn(warning, error)
      },
    })
  }

  private async craft(nonce: number, known: L1Tx | undefined, kind: TxKind, signal: AbortSignal): Promise<CraftedTx> {
    const { l1, signer, chainId, suggestFees, createSidecar } = this.modules
    const old = known?.fees ?? (await l1.pendingTx(signer.address, nonce, signal))
    const ownKind = old === undefined ? kind : old.blobFeeCap === undefined ? 'calldata' : 'blobs'
    const sidecar = ownKind === 'blobs' ? await createSidecar([encodeBlob(EMPTY_BLOB_DATA)]) : undefined
    const suggestion = await suggestFees(ownKind, signal)
    const tx: L1Tx = {
      chainId,
      nonce,
      fees: old === undefined ? firstFees(suggestion, ownKind) : bumpFees(old, suggestion),
      gasLimit: calldataGas(EMPTY_BYTES),
      to: signer.address,
      data: EMPTY_BYTES,
      blobHashes: sidecar?.versionedHashes,
    }
    return { tx, signed: await signer.signTransaction(tx), sidecar }
  }
}
