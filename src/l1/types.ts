import type { Hex } from '../lib/hex.ts'
import type { L1BlockInfo, L1Receipt, L1Transaction } from '../rollup/protocol/types.ts'

export type L1BlockLabel = 'latest' | 'safe' | 'finalized'

/**
 * L1 for derivation and the batcher. An unknown block is `undefined`, or L1Error `l1-not-found` if its content is
 * requested. Other errors: L1Error `l1-bad-answer`, JsonRpcError, RpcTransportError.
 */
export interface L1Client {
  blockInfoByHash(hash: Hex): Promise<L1BlockInfo | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockInfo | undefined>
  blockInfoByLabel(label: L1BlockLabel): Promise<L1BlockInfo | undefined>
  transactions(hash: Hex): Promise<{ info: L1BlockInfo; transactions: L1Transaction[] }>
  receipts(hash: Hex): Promise<{ info: L1BlockInfo; receipts: L1Receipt[] }>
  /**
   * Requests several blocks with their transactions in one batch. The transactions stay in the cache for
   * `transactions`. A block that L1 does not have is undefined.
   */
  fetchBlocks(numbers: readonly number[]): Promise<L1BlockInfo | undefined>[]
  /** The recent average weight of a block in a batch: 1 for an empty block, more on a busy L1. */
  blockWeight(): number
  /** 32 bytes at the given block. Proven by the block's state root, unless the endpoint is trusted. */
  storageAt(address: Hex, slot: Hex, blockHash: Hex): Promise<Hex>
  chainId(): Promise<bigint>
}

/** The receipts methods of an endpoint, cheapest first (op-node's `--l1.rpckind`). */
export const L1_RPC_KINDS = [
  'standard',
  'alchemy',
  'quicknode',
  'infura',
  'parity',
  'nethermind',
  'debug_geth',
  'erigon',
  'basic',
  'any',
] as const
export type L1RpcKind = (typeof L1_RPC_KINDS)[number]
