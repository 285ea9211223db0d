import type { L2BlockRef, RollupConfig } from '../protocol/types.ts'
import type { BatchStageLike, NextBatch } from './batchStages.ts'
import { DerivationError } from './errors.ts'
import type { AttributesBuilder, DerivedAttributes, Pull } from './types.ts'

/** Top stage: combines a batch and the deposits of its epoch to the attributes of a block. */
export class AttributesQueue {
  private readonly prev: BatchStageLike
  private readonly builder: AttributesBuilder
  private readonly config: RollupConfig
  /** The batch, kept while L1 or L2 cannot be read. */
  private pending: NextBatch | undefined

  constructor({ prev, builder }: { prev: BatchStageLike; builder: AttributesBuilder }, config: RollupConfig) {
    this.prev = prev
    this.builder = builder
    this.config = config
  }

  async next(parent: L2BlockRef): Promise<Pull<DerivedAttributes>> {
    if (this.pending === undefined) {
      const pulled = await this.prev.next(parent)
      if (pulled === 'again' || pulled === 'empty') return pulled
      this.pending = pulled
    }
    const { batch, isLastInSpan } = this.pending
    const expected = parent.timestamp + this.config.blockTime
    if (batch.parentHash !== parent.hash || batch.timestamp !== expected) {
      throw new DerivationError(
        'pipeline-mismatch',
        'reset',
        `batch for time ${batch.timestamp} on ${batch.parentHash} does not follow L2 block ${parent.number} (${parent.hash})`,
      )
    }
    const derivedFrom = this.prev.origin
    const prepared = await this.builder.prepare(parent, { number: batch.epochNumber, hash: batch.epochHash })
    this.pending = undefined
    const room = roomFor(prepared.gasLimit)
    const transactions = [...prepared.transactions, ...batch.transactions.slice(0, room)]
    return { attributes: { ...prepared, transactions }, parent, derivedFrom, isLastInSpan }
  }

  flushChannel(): void {
    this.pending = undefined
    this.prev.flushChannel()
  }
}

/** Minimum gas of a transaction. Lagoon's transactions without gas occur once in a block. */
const MIN_TRANSACTION_GAS = 21_000n
const MANY_TRANSACTIONS = 1 << 15

/**
 * Maximum number of a batch's transactions that are passed on. A block with more transactions than its gas limit allows
 * is invalid anyway, and a batch may claim tens of millions.
 */
function roomFor(gasLimit: bigint): number {
  return Math.max(MANY_TRANSACTIONS, Number(gasLimit / MIN_TRANSACTION_GAS) + 2)
}
