import type { Hex } from '../lib/hex.ts'
import type { L1BlockInfo, L1Receipt, L1Transaction } from '../rollup/protocol/types.ts'

export type L1BlockLabel = 'latest' | 'safe' | 'finalized'

/**
 * L1 as derivation and the batcher read it. A block that the endpoint does not know is `undefined`, or L1Error
 * `l1-not-found` where its content is asked for. Other failures: L1Error `l1-bad-answer`, JsonRpcError, RpcTransportError.
 */
export interface L1Client {
  blockInfoByHash(hash: Hex): Promise<L1BlockInfo | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockInfo | undefined>
  blockInfoByLabel(label: L1BlockLabel): Promise<L1BlockInfo | undefined>
  transactions(hash: Hex): Promise<{ info: L1BlockInfo; transactions: L1Transaction[] }>
  receipts(hash: Hex): Promise<{ info: L1BlockInfo; receipts: L1Receipt[] }>
  /**
   * Blocks of these numbers, asked for together, with their transactions, which are kept for `transactions`. Each is
   * undefined where L1 does not have it.
   */
  fetchBlocks(numbers: readonly number[]): Promise<L1BlockInfo | undefined>[]
  /** How much of a batch a block of late has taken: 1 for an empty one, more on a busy L1. */
  blockWeight(): number
  /** 32 bytes, as of this block. Proven by its state root, unless the endpoint is trusted. */
  storageAt(address: Hex, slot: Hex, blockHash: Hex): Promise<Hex>
  chainId(): Promise<bigint>
}

/** What an endpoint offers for receipts, cheapest way first (op-node's `--l1.rpckind`). */
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
