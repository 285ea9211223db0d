import type { Hex } from '../../lib/hex.ts'
import type { BlockHeader } from '../primitives/block.ts'

// Types of the chain that other parts of devium-geth use (Engine API, eth RPC, transaction pool). Units as in block.ts.

export interface AccountState {
  nonce: bigint
  balance: bigint
  storageRoot: Hex
  codeHash: Hex
}

/** EIP-1186. */
export interface AccountProof extends AccountState {
  address: Hex
  accountProof: Uint8Array[]
  storageProof: { key: Hex; value: bigint; proof: Uint8Array[] }[]
}

/** Cost of an executed block. */
export interface ExecutedBlock {
  gasUsed: bigint
  /** Time to decode, execute and store the block. */
  durationMs: number
}

export interface HeadChange {
  head: BlockHeader
  /** Blocks that are not canonical any more, highest first. Empty if the chain only grew. */
  removed: BlockHeader[]
  /** Blocks that became canonical, lowest first. */
  added: BlockHeader[]
}

export interface ChainLabels {
  head(): BlockHeader
  /** Undefined until a forkchoice sets it. */
  safe(): BlockHeader | undefined
  finalized(): BlockHeader | undefined
}
