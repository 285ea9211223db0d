import { concatBytes } from '../../../lib/bytes.ts'
import type { Hex } from '../../../lib/hex.ts'
import { readRlpHeader } from '../../../lib/rlp.ts'
import { runNow } from '../../../lib/slicedTask.ts'
import type { SingularBatch } from '../../../rollup/protocol/batch/singularBatch.ts'
import type { SpanBatchLayout } from '../../../rollup/protocol/batch/spanBatchLayout.ts'
import { type Batch, buildSpanBatch, readBatch } from '../../../rollup/protocol/index.ts'
import { type RollupConfig, ZERO_ADDRESS, ZERO_HASH } from '../../../rollup/protocol/types.ts'
import { type Fault, faultOf } from './fault.ts'
import { describeTransaction, type TransactionJson } from './transactions.ts'

/** One L2 block of a batch. */
export interface BlockJson {
  /** null without a rollup config. */
  number: number | null
  timestamp: number
  /** `timestamp` counts from the L2 genesis, because without a rollup config the genesis time is unknown. */
  timestampIsRelative?: true
  origin: { number: number; hash?: Hex }
  transactionCount: number
  transactions?: TransactionJson[]
}

export interface BatchJson {
  type: 'singular' | 'span' | null
  /** Offset of the batch in the decompressed channel. */
  byte?: number
  bytes: number
  parentHash?: Hex
  /** First 20 bytes of the parent's hash. */
  parentCheck?: Hex
  /** First 20 bytes of the hash of the last block's L1 origin. */
  l1OriginCheck?: Hex
  blockCount?: number
  transactionCount?: number
  blocks?: BlockJson[]
  /** Bytes of each part of a span batch. */
  layout?: Readonly<Record<string, number>>
  ignoredBytes?: number
  fault: Fault | null
}

export interface BatchOptions {
  config: RollupConfig | undefined
  /** Whether to list transactions; otherwise they are counted. */
  listTransactions: boolean
}

export const LOST = 'derivation drops the rest of the channel, and keeps the batches before this one'
const ALONE = 'derivation drops only this batch'

/** Describes `batch type ‖ content`. A malformed batch gives its readable parts and the fault. */
export function describeBatch(bytes: Uint8Array, options: BatchOptions): BatchJson {
  const type = bytes[0] === 0 ? 'singular' : bytes[0] === 1 ? 'span' : null
  const base = { type, bytes: bytes.length } as const
  let read: SingularBatch | SpanBatchLayout
  let batch: Batch
  let effect = LOST
  try {
    read = runNow(readBatch(bytes))
    effect = ALONE
    batch = read.type === 'singular' ? read : runNow(buildSpanBatch(read, options.config ?? CONFIG_OF_NO_CHAIN))
  } catch (error) {
    return { ...base, fault: faultOf(error, { in: 'batch', effect }) }
  }
  const ignoredBytes = bytes.length - (read.type === 'singular' ? readRlpHeader(bytes, 1).end : read.end)
  const blocks = blocksOf(batch, options)
  return {
    ...base,
    ...(batch.type === 'singular'
      ? { parentHash: batch.parentHash }
      : { parentCheck: batch.parentCheck, l1OriginCheck: batch.l1OriginCheck }),
    blockCount: blocks.length,
    transactionCount: blocks.reduce((sum, block) => sum + block.transactionCount, 0),
    ...(read.type === 'singular' ? {} : { layout: read.parts }),
    ...(ignoredBytes === 0 ? {} : { ignoredBytes }),
    blocks,
    fault: null,
  }
}

/** Restores the type byte of a span batch, because some tools store span batches without it. */
export function withSpanType(bytes: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(1), bytes)
}

function blocksOf(batch: Batch, { config, listTransactions }: BatchOptions): BlockJson[] {
  const block = (timestamp: number, origin: BlockJson['origin'], transactions: readonly Uint8Array[]): BlockJson => ({
    number: config === undefined ? null : numberAt(config, timestamp),
    timestamp,
    ...(config === undefined && batch.type === 'span' ? { timestampIsRelative: true } : {}),
    origin,
    transactionCount: transactions.length,
    ...(listTransactions
      ? {
          transactions: transactions.map((raw) =>
            describeTransaction(raw, { isWhole: config !== undefined || batch.type === 'singular' }),
          ),
        }
      : {}),
  })
  if (batch.type === 'singular') {
    return [block(batch.timestamp, { number: batch.epochNumber, hash: batch.epochHash }, batch.transactions.slice())]
  }
  return batch.elements.map((element) =>
    block(element.timestamp, { number: element.epochNumber }, element.transactions),
  )
}

function numberAt({ genesis, blockTime }: RollupConfig, timestamp: number): number | null {
  const number = genesis.l2.number + (timestamp - genesis.l2Time) / blockTime
  return Number.isInteger(number) && number >= 0 ? number : null
}

/** Placeholder. A span batch does not hold the chain id, genesis time and block time that its blocks need. */
export const CONFIG_OF_NO_CHAIN: RollupConfig = {
  genesis: {
    l1: { hash: ZERO_HASH, number: 0 },
    l2: { hash: ZERO_HASH, number: 0 },
    l2Time: 0,
    systemConfig: { batcherAddress: ZERO_ADDRESS, overhead: ZERO_HASH, scalar: ZERO_HASH, gasLimit: 0n },
  },
  blockTime: 0,
  maxSequencerDrift: 0,
  seqWindowSize: 0,
  channelTimeout: 0,
  l1ChainId: 0n,
  l2ChainId: 0n,
  forks: {},
  batchInboxAddress: ZERO_ADDRESS,
  depositContractAddress: ZERO_ADDRESS,
  l1SystemConfigAddress: ZERO_ADDRESS,
}
