import type { SingularBatch } from '../protocol/index.ts'
import {
  isForkActivationBlock,
  isForkActive,
  marksOf,
  maxSequencerDrift,
  type TransactionList,
} from '../protocol/index.ts'
import type { Fork, L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'

/**
 * The result of checking a batch.
 *
 * - `accept`: the next batch.
 * - `drop`: never valid.
 * - `undecided`: more L1 or L2 data are needed.
 * - `future`: for a later block.
 * - `past`: for a block that already exists.
 */
export type BatchVerdict =
  | { kind: 'accept' }
  | { kind: 'drop'; reason: string }
  | { kind: 'undecided'; reason: string }
  | { kind: 'future' }
  | { kind: 'past' }

/** The data against which a batch is checked. */
export interface BatchContext {
  config: RollupConfig
  /** Known consecutive L1 blocks. The first is the current epoch of L2. */
  l1Blocks: readonly L1BlockRef[]
  /** The L2 block to build on. */
  parent: L2BlockRef
  /** The L1 block that completed the batch's channel. */
  inclusion: L1BlockRef
}

/** Forks whose activation block may contain only deposits (specs: jovian/derivation). */
const EMPTY_ACTIVATION_FORKS: readonly Fork[] = ['jovian', 'karst', 'lagoon']

/** Why a batch for an already derived block is dropped before Holocene. */
export const PAST_REASON = 'timestamp is in the past'

export const ACCEPT: BatchVerdict = { kind: 'accept' }

export function drop(reason: string): BatchVerdict {
  return { kind: 'drop', reason }
}

export function undecided(reason: string): BatchVerdict {
  return { kind: 'undecided', reason }
}

/** specs: derivation, "Batch Queue"; holocene/derivation, "Batch Queue". */
export function checkSingularBatch(context: BatchContext, batch: SingularBatch): BatchVerdict {
  const { config, l1Blocks, parent, inclusion } = context
  const [epoch, nextEpoch] = l1Blocks
  if (epoch === undefined) return undecided('no L1 block is known')
  const timing = checkTimestamps(context, batch.timestamp, batch.timestamp)
  if (timing !== undefined) return timing
  if (batch.parentHash !== parent.hash) return drop('parent hash is not the hash of the safe head')
  if (batch.epochNumber + config.seqWindowSize < inclusion.number) return drop('included after the sequencing window')

  let origin: L1BlockRef = epoch
  if (batch.epochNumber < epoch.number) return drop("epoch is older than the safe head's epoch")
  if (batch.epochNumber === epoch.number + 1) {
    if (nextEpoch === undefined) return undecided('the next L1 block is not known')
    origin = nextEpoch
  } else if (batch.epochNumber > epoch.number) {
    return drop('epoch is more than one ahead')
  }
  if (batch.epochHash !== origin.hash) return drop('epoch hash is not the hash of the L1 block')
  return (
    checkOriginTime({
      config,
      timestamp: batch.timestamp,
      origin,
      nextOrigin: nextEpoch,
      originAdvanced: origin !== epoch,
      isEmpty: batch.transactions.length === 0,
    }) ??
    checkActivationBlock(config, batch) ??
    checkTransactions(config, batch.timestamp, batch.transactions) ??
    ACCEPT
  )
}

/** Compares a batch's first and last timestamp with the next L2 block's; undefined if the batch includes that block. */
export function checkTimestamps(
  { config, parent, inclusion }: BatchContext,
  first: number,
  last: number,
): BatchVerdict | undefined {
  const holocene = isForkActive(config, 'holocene', inclusion.timestamp)
  const next = parent.timestamp + config.blockTime
  if (first > next) return holocene ? drop('timestamp is in the future') : { kind: 'future' }
  if (last < next) return holocene ? { kind: 'past' } : drop(PAST_REASON)
  return undefined
}

export interface OriginTimeCheck {
  config: RollupConfig
  timestamp: number
  origin: L1BlockRef
  /** The L1 block after the origin, if known. */
  nextOrigin: L1BlockRef | undefined
  originAdvanced: boolean
  isEmpty: boolean
}

/** L2 time must not be before its origin's time, nor too far ahead of it; undefined if the time is valid. */
export function checkOriginTime(check: OriginTimeCheck): BatchVerdict | undefined {
  const { config, timestamp, origin, nextOrigin } = check
  if (timestamp < origin.timestamp) return drop("timestamp is before the L1 origin's timestamp")
  if (timestamp <= origin.timestamp + maxSequencerDrift(config, origin.timestamp)) return undefined
  if (!check.isEmpty) return drop('too far ahead of the L1 origin to hold transactions')
  // An empty block is allowed if it keeps L2 time from falling behind L1. The first block of a new epoch is always
  // allowed.
  if (check.originAdvanced) return undefined
  if (nextOrigin === undefined) return undecided('the next L1 block is not known')
  return timestamp >= nextOrigin.timestamp ? drop('could have moved to the next L1 origin') : undefined
}

/** Rules for the transactions of a block; undefined if all are valid. */
export function checkTransactions(
  config: RollupConfig,
  timestamp: number,
  transactions: TransactionList,
): BatchVerdict | undefined {
  if (transactions.length === 0) return undefined
  const { empty, deposit, setCode, postExec } = marksOf(transactions)
  if (empty !== undefined) return drop(`transaction ${empty} is empty`)
  if (deposit !== undefined) return drop(`transaction ${deposit} is a deposit`)
  if (setCode !== undefined && !isForkActive(config, 'isthmus', timestamp)) {
    return drop(`transaction ${setCode} is a set-code transaction, before Isthmus`)
  }
  if (postExec !== undefined && !isForkActive(config, 'lagoon', timestamp)) {
    return drop(`transaction ${postExec} is of type 0x7d, before Lagoon`)
  }
  return undefined
}

function checkActivationBlock(config: RollupConfig, batch: SingularBatch): BatchVerdict | undefined {
  if (batch.transactions.length === 0) return undefined
  const fork = EMPTY_ACTIVATION_FORKS.find((name) => isForkActivationBlock(config, name, batch.timestamp))
  return fork === undefined ? undefined : drop(`the activation block of ${fork} may hold no transactions`)
}
