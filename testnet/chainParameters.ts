import type { Hex } from '../src/lib/hex.ts'
import type { ForkTimes } from './forks.ts'

/** The parameters of a testnet. On a kept testnet only the L1 block time and future forks can change. */
export interface ChainParameters {
  l1ChainId: number
  l2ChainId: number
  /** Seconds between L2 blocks. */
  blockTime: number
  /** Seconds between L1 blocks. */
  l1BlockTime: number
  /** Unix seconds: timestamp of L1 block 1 and of the L2 genesis block. */
  genesisTime: number
  forks: ForkTimes
  /** Absent if the L1 is Anvil. */
  l1?: L1Parameters
}

/** Parameters of a go-ethereum L1. */
export interface L1Parameters {
  client: 'geth'
  /** Unix seconds. Absent: the fork never activates. */
  amsterdamTime?: number
}

/** How the batch submitter posts (`--data-availability-type`). */
export const DATA_AVAILABILITY = ['calldata', 'blobs', 'auto'] as const
export type DataAvailability = (typeof DATA_AVAILABILITY)[number]

/** The initial L2 gas limit, in SystemConfig and the genesis block. SystemConfig allows 21 to 200 million. */
export const L2_GAS_LIMIT = 60_000_000

/** Fee scalars of OP Mainnet since Ecotone. */
export const BASE_FEE_SCALAR = 1368
export const BLOB_BASE_FEE_SCALAR = 810_949

/** The recipient of batcher transactions. Nobody has its key: it is the custom `ff00`, then the L2 chain id in decimal digits. */
export function batchInboxAddress(l2ChainId: number): Hex {
  return `0xff${String(l2ChainId).padStart(38, '0')}`
}
