import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { fromHex } from '../../lib/hex.ts'
import { parseRollupConfig } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { type BatcherBlock, batcherBlockFromJson } from '../l2/l2Block.ts'

export interface RecordedBlock extends Record<string, unknown> {
  hash: string
  parentHash: string
  number: string
  timestamp: string
  transactions: Record<string, unknown>[]
}

/** A chain recorded from op-node, op-batcher and op-geth. */
export interface RecordedChain {
  rollup: Record<string, unknown>
  config: RollupConfig
  /** Answers of eth_getBlockByNumber. The index is the block number. */
  blocks: RecordedBlock[]
  /** Encodings of the blocks' transactions. Null for deposits. */
  rawTransactions: (string | null)[][]
}

export type RecordedChainName =
  | 'granite-singular-zlib-calldata'
  | 'holocene-span-brotli-calldata'
  | '2026-holocene-isthmus-jovian-calldata'

export function loadRecordedChain(name: RecordedChainName): RecordedChain {
  const url = new URL(`../../../test/vectors/data/op-node-${name}.json.gz`, import.meta.url)
  const { rollup, l2, l2RawTransactions } = JSON.parse(gunzipSync(readFileSync(url)).toString())
  return { rollup, config: parseRollupConfig(rollup), blocks: l2, rawTransactions: l2RawTransactions }
}

/** Blocks from 1 on, as the batcher holds them. */
export function batcherBlocks(chain: RecordedChain): Promise<BatcherBlock[]> {
  return Promise.all(chain.blocks.slice(1).map(batcherBlockFromJson))
}

/** The transactions of the batch of block `number`. */
export function batchTransactions(chain: RecordedChain, number: number): Uint8Array[] {
  const all = chain.rawTransactions[number] ?? []
  return all.filter((raw) => raw !== null).map((raw) => fromHex(raw))
}

/** The expected batches on L1 of the blocks `from` to `to`. */
export function expectedBlocks(chain: RecordedChain, from: number, to: number) {
  return chain.blocks.slice(from, to + 1).map((block, index) => ({
    timestamp: Number(block.timestamp),
    transactions: batchTransactions(chain, from + index),
  }))
}
