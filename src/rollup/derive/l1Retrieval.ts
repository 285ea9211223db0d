import { DecodeError, DeviumError, describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { decodeBlob } from '../protocol/index.ts'
import type { L1BlockRef, L1Transaction, RollupConfig } from '../protocol/types.ts'
import { type BatcherData, batcherDataOf } from './batcherTransactions.ts'
import { DerivationError } from './errors.ts'
import type { DerivationListener } from './events.ts'
import type { L1Traversal } from './l1Traversal.ts'
import type { BlobSource, L1Source, Pull } from './types.ts'

export interface L1RetrievalModules {
  prev: Pick<L1Traversal, 'origin' | 'systemConfig'>
  l1: Pick<L1Source, 'transactions'>
  blobs: BlobSource | undefined
  logger: Logger
  emit?: DerivationListener
}

/** Second stage: the data of batcher transactions and blobs, one item in each call. */
export class L1Retrieval {
  private readonly modules: L1RetrievalModules
  private readonly config: RollupConfig
  /** Hash of the L1 block to which `waiting` belongs. */
  private opened: Hex | undefined
  private waiting: Uint8Array[] = []

  constructor(modules: L1RetrievalModules, config: RollupConfig) {
    this.modules = modules
    this.config = config
  }

  get origin(): L1BlockRef {
    return this.modules.prev.origin
  }

  async next(): Promise<Pull<Uint8Array>> {
    const { origin, systemConfig } = this.modules.prev
    if (this.opened !== origin.hash) {
      const transactions = await this.transactionsOf(origin)
      const { batcherAddress } = systemConfig
      const posted = batcherDataOf(transactions, { config: this.config, batcherAddress, l1Time: origin.timestamp })
      this.waiting = await this.load(origin, posted)
      this.opened = origin.hash
    }
    return this.waiting.shift() ?? 'empty'
  }

  private async transactionsOf(origin: L1BlockRef): Promise<L1Transaction[]> {
    try {
      return (await this.modules.l1.transactions(origin.hash)).transactions
    } catch (cause) {
      if (!(cause instanceof DeviumError) || cause.code !== 'l1-not-found') throw cause
      throw new DerivationError(
        'l1-reorg',
        'reset',
        `L1 block ${origin.number} (${origin.hash}) was removed by a reorg`,
        { cause },
      )
    }
  }

  private async load(origin: L1BlockRef, posted: readonly BatcherData[]): Promise<Uint8Array[]> {
    const pieces: Uint8Array[] = []
    for (const item of posted) {
      if (item.kind === 'calldata') pieces.push(item.data)
      else pieces.push(...(await this.loadBlobs(origin, item.versionedHashes)))
    }
    return pieces
  }

  private async loadBlobs(origin: L1BlockRef, versionedHashes: readonly Hex[]): Promise<Uint8Array[]> {
    const { blobs: source, logger } = this.modules
    if (source === undefined) {
      throw new DerivationError(
        'blobs-unavailable',
        'critical',
        `L1 block ${origin.number} (${origin.hash}) holds batches in blobs, but no beacon endpoint is configured: set --l1.beacon`,
      )
    }
    const blobs = await source.blobs(origin, versionedHashes)
    if (blobs === undefined) {
      // The beacon node may follow another L1 fork.
      throw new DerivationError('l1-reorg', 'reset', `blobs of L1 block ${origin.number} (${origin.hash}) not found`)
    }
    const pieces: Uint8Array[] = []
    for (const blob of blobs) {
      try {
        pieces.push(decodeBlob(blob))
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
        logger.warn('Ignoring malformed blob', { l1Block: origin.number, err: describeError(error) })
        const reason = describeError(error)
        this.modules.emit?.({ kind: 'data-ignored', l1Block: origin.number, what: 'blob', reason })
      }
    }
    return pieces
  }
}
