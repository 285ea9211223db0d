import type { Hex } from '../src/lib/hex.ts'
import type { ForkTimes } from './forks.ts'

/** What a testnet is made with. Of a kept one, only L1's block time and forks to come may be set anew. */
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
  /** Absent: the L1 is Anvil. */
  l1?: L1Parameters
}

/** Parameters of an L1 that is go-ethereum. */
export interface L1Parameters {
  client: 'geth'
  /** Unix seconds; absent: never. */
  amsterdamTime?: number
}

/** Where a batch submitter posts (`--data-availability-type`). */
export const DATA_AVAILABILITY = ['calldata', 'blobs', 'auto'] as const
export type DataAvailability = (typeof DATA_AVAILABILITY)[number]

/** L2 gas limit that SystemConfig and the genesis block start with (the range allowed is 21 to 200 million). */
export const L2_GAS_LIMIT = 60_000_000

/** Fee scalars of OP Mainnet since Ecotone. */
export const BASE_FEE_SCALAR = 1368
export const BLOB_BASE_FEE_SCALAR = 810_949

/**
 * Where the batch submitter sends its transactions: nobody's address, by custom `ff00` and the L2 chain id in decimal
 * digits.
 */
export function batchInboxAddress(l2ChainId: number): Hex {
  return `0xff${String(l2ChainId).padStart(38, '0')}`
}
