import type { Hex } from '../../lib/hex.ts'
import type { EngineClient } from '../engine/index.ts'
import type { BlockId, ExecutionPayload, L1Transaction } from '../protocol/types.ts'
import type { BlockTimes } from './blockTimes.ts'

/** One block, and the way in which it became safe. */
export interface BlockDetails {
  payload: ExecutionPayload
  /** The L1 block with whose data it became safe here; undefined where that is not remembered. */
  safeBy: BlockId | undefined
  /** Transactions of the batch submitter in that L1 block. */
  batchTransactions: Hex[]
}

export interface BlockDetailsModules {
  engine: Pick<EngineClient, 'payloadByHash'>
  l1: { transactions?(hash: Hex): Promise<{ transactions: L1Transaction[] }> }
  recent(): readonly Pick<BlockTimes, 'hash' | 'safeBy'>[]
}

/** Undefined where the engine does not have the block. */
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
