import { equalBytes } from '../../lib/bytes.ts'
import { isDepositTx, isForkActive, l1InfoOfTransactions, type SpanBatch } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'
import {
  ACCEPT,
  type BatchContext,
  type BatchVerdict,
  checkOriginTime,
  checkTimestamps,
  checkTransactions,
  drop,
  undecided,
} from './batchValidity.ts'
import { DerivationError } from './errors.ts'
import type { L2Source } from './types.ts'

/** Reads the existing L2 blocks for a span batch that overlaps the safe chain. Errors are passed to the caller. */
export type L2Lookup = Pick<L2Source, 'blockRefByNumber' | 'payloadByNumber'>

export interface SpanPrefixVerdict {
  verdict: BatchVerdict
  /** The L2 block before the span, if accepted. */
  parentBlock?: L2BlockRef
}

/** The checks that do not depend on single blocks (specs: delta/span-batches, "Span Batch Derivation"). */
export async function checkSpanBatchPrefix(
  context: BatchContext,
  batch: SpanBatch,
  l2: L2Lookup,
): Promise<SpanPrefixVerdict> {
  const { config, l1Blocks, inclusion } = context
  const [epoch, nextEpoch] = l1Blocks
  if (epoch === undefined) return { verdict: undecided('no L1 block is known') }
  const firstTimestamp = batch.timestampAt(0)
  const firstEpoch = batch.epochNumberAt(0)
  const lastEpoch = batch.epochNumberAt(batch.blockCount - 1)

  let origin = epoch
  if (firstEpoch === epoch.number + 1) {
    if (nextEpoch === undefined) return { verdict: undecided('the next L1 block is not known') }
    origin = nextEpoch
  }
  if (!isForkActive(config, 'delta', origin.timestamp)) return { verdict: drop('span batch before Delta') }
  const timing = checkTimestamps(context, firstTimestamp, batch.timestampAt(batch.blockCount - 1))
  if (timing !== undefined) return { verdict: timing }

  const parent = await findParent(context, firstTimestamp, l2)
  if ('kind' in parent) return { verdict: parent }
  if (!parent.hash.startsWith(batch.parentCheck)) return { verdict: drop('parent check does not match') }
  if (firstEpoch + config.seqWindowSize < inclusion.number) {
    return { verdict: drop('included after the sequencing window') }
  }
  if (firstEpoch > parent.l1Origin.number + 1) return { verdict: drop('first epoch is more than one ahead') }
  // If the last epoch is older than all known blocks, op-node also returns undecided, although it can never be decided.
  const end = l1Blocks.find((block) => block.number === lastEpoch)
  if (end === undefined) return { verdict: undecided('the L1 origin of the last block is not known') }
  if (!end.hash.startsWith(batch.l1OriginCheck)) return { verdict: drop('L1 origin check does not match') }
  if (firstEpoch < parent.l1Origin.number) return { verdict: drop('first epoch is older than its parent') }
  return { verdict: ACCEPT, parentBlock: parent }
}

/**
 * All checks of a span batch before Holocene: the prefix, each new block, and that the overlap equals the safe chain.
 */
export async function checkSpanBatch(context: BatchContext, batch: SpanBatch, l2: L2Lookup): Promise<BatchVerdict> {
  const { verdict, parentBlock } = await checkSpanBatchPrefix(context, batch, l2)
  if (parentBlock === undefined) return verdict
  return checkNewBlocks(context, batch, parentBlock) ?? (await checkOverlap(context, batch, parentBlock, l2)) ?? ACCEPT
}

/**
 * The checks since Holocene, before the span is split (specs: holocene/derivation, "Span Batches"): the prefix, and
 * that the overlap equals the safe chain. op-node added the overlap check in August 2026 (#22215). Without it, the rest
 * of a span could be built on a block that replaced one of its own.
 */
export async function checkSpanBatchHolocene(
  context: BatchContext,
  batch: SpanBatch,
  l2: L2Lookup,
): Promise<BatchVerdict> {
  const { verdict, parentBlock } = await checkSpanBatchPrefix(context, batch, l2)
  if (parentBlock === undefined) return verdict
  return (await checkOverlap(context, batch, parentBlock, l2)) ?? ACCEPT
}

/** The L2 block before the span: the safe head, or an earlier block if the span overlaps the safe chain. */
async function findParent(
  { config, parent: safeHead }: BatchContext,
  firstTimestamp: number,
  l2: L2Lookup,
): Promise<L2BlockRef | BatchVerdict> {
  if (firstTimestamp === safeHead.timestamp + config.blockTime) return safeHead
  if (firstTimestamp > safeHead.timestamp) return drop('timestamp is between two blocks')
  const overlapSeconds = safeHead.timestamp - firstTimestamp
  if (overlapSeconds % config.blockTime !== 0) return drop('timestamp does not meet the block time')
  const number = safeHead.number - overlapSeconds / config.blockTime - 1
  // op-node's lookup fails here, so its result is undecided.
  if (number < config.genesis.l2.number) return undecided('span batch begins at genesis or before it')
  return (await l2.blockRefByNumber(number)) ?? missingL2Block(number)
}

function checkNewBlocks(context: BatchContext, batch: SpanBatch, parentBlock: L2BlockRef): BatchVerdict | undefined {
  const { config, l1Blocks, parent } = context
  const [known] = l1Blocks
  for (let i = firstBlockAfter(batch, parentBlock, parent); i < batch.blockCount; i++) {
    const timestamp = batch.timestampAt(i)
    const epochNumber = batch.epochNumberAt(i)
    const previousEpoch = i === 0 ? parentBlock.l1Origin.number : batch.epochNumberAt(i - 1)
    const index = epochNumber - (known?.number ?? 0)
    const origin: L1BlockRef | undefined = l1Blocks[index]
    if (origin === undefined) return drop(`epoch ${epochNumber} is not among the known L1 blocks`)
    const transactions = batch.transactionsAt(i)
    const verdict =
      checkOriginTime({
        config,
        timestamp,
        origin,
        nextOrigin: l1Blocks[index + 1],
        originAdvanced: epochNumber > previousEpoch,
        isEmpty: transactions.length === 0,
      }) ?? checkTransactions(config, timestamp, transactions)
    if (verdict !== undefined) return verdict
  }
  return undefined
}

/** Index of the span's first block above the safe head. */
function firstBlockAfter(batch: SpanBatch, parentBlock: L2BlockRef, safeHead: L2BlockRef): number {
  return Math.min(batch.blockCount, safeHead.number - parentBlock.number)
}

async function checkOverlap(
  { parent: safeHead }: BatchContext,
  batch: SpanBatch,
  parentBlock: L2BlockRef,
  l2: L2Lookup,
): Promise<BatchVerdict | undefined> {
  for (let number = parentBlock.number + 1; number <= safeHead.number; number++) {
    const index = number - parentBlock.number - 1
    const transactions = batch.transactionsAt(index)
    const envelope = (await l2.payloadByNumber(number)) ?? missingL2Block(number)
    const existing = envelope.payload.transactions
    const sequenced = existing.filter((transaction) => !isDepositTx(transaction))
    const same =
      sequenced.length === transactions.length &&
      sequenced.every((transaction, position) => equalBytes(transaction, transactions.at(position) ?? NOTHING))
    if (!same) return drop(`transactions differ from those of L2 block ${number}`)
    if (l1InfoOfTransactions(existing).number !== batch.epochNumberAt(index)) {
      return drop(`L1 origin differs from that of L2 block ${number}`)
    }
  }
  return undefined
}

/** All blocks up to the safe head exist, so a retry will find this block. */
function missingL2Block(number: number): never {
  throw new DerivationError('l2-block-missing', 'temporary', `L2 block ${number} of the safe chain not found`)
}

const NOTHING = new Uint8Array(0)
