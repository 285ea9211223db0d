import type { Hex } from '../../lib/hex.ts'
import type { EngineClient } from '../engine/index.ts'
import type { BlockId, ExecutionPayload, L1Transaction } from '../protocol/types.ts'
import type { BlockTimes } from './blockTimes.ts'

/** A block, and how it became safe. */
export interface BlockDetails {
  payload: ExecutionPayload
  /** The L1 block whose data made it safe at this node; undefined if that is no longer known. */
  safeBy: BlockId | undefined
  /** Transactions of the batch submitter in that L1 block. */
  batchTransactions: Hex[]
}

export interface BlockDetailsModules {
  engine: Pick<EngineClient, 'payloadByHash'>
  l1: { transactions?(hash: Hex): Promise<{ transactions: L1Transaction[] }> }
  recent(): readonly Pick<BlockTimes, 'hash' | 'safeBy'>[]
}

/** Returns undefined if the engine does not have the block. */
export async function readBlockDetails(
  { engine, l1, recent }: BlockDetailsModules,
  batchInbox: Hex,
  hash: Hex,
): Promise<BlockDetails | undefined> {
  const envelope = await engine.payloadByHash(hash)
  if (envelope === undefined) return undefined
  const safeBy = recent().find((block) => block.hash === hash)?.safeBy
  const read = safeBy === undefined ? undefined : await l1.transactions?.(safeBy.hash)
  const posted = read?.transactions.filter(({ to }) => to === batchInbox) ?? []
  return { payload: envelope.payload, safeBy, batchTransactions: posted.map((transaction) => transaction.hash) }
}
