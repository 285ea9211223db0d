import type { Hex } from '../../lib/hex.ts'
import type { PayloadAttributes, PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { Environment } from '../evm/runMessage.ts'
import type { Block, Receipt, SignedTransaction } from '../primitives/block.ts'

export interface BuiltBlock {
  envelope: PayloadEnvelope
  block: Block
  receipts: Receipt[]
  /** Wei paid to the fee recipient as tips. */
  blockValue: bigint
}

/** A block under construction. Without `noTxPool` it keeps taking pool transactions until sealed. */
export interface BuildJob {
  /** 8 bytes; the first byte is the payload version. */
  payloadId: Hex
  parentHash: Hex
  timestamp: number
  /** Ends the filling and gives the block (the same result when called again). Rejects when the build failed. */
  seal(): Promise<BuiltBlock>
  cancel(): void
}

export interface BuildRequest {
  parentHash: Hex
  attributes: PayloadAttributes
  /** Engine API version of the payload: 2 (Bedrock…Delta), 3 (Ecotone), 4 (Isthmus). */
  version: 1 | 2 | 3 | 4
  /** Absent or with `noTxPool`: forced transactions only. */
  txSource?: TxSource | undefined
  /** From Lagoon on, where the pool is used: refund to transactions what earlier ones of the block have warmed. Default: false. */
  refundsWarming?: boolean
  signal?: AbortSignal
}

/** What the builder needs of the transaction pool. */
export interface TxSource {
  /** Executable transactions by falling effective tip at `baseFee`, each sender's in nonce order. */
  best(baseFee: bigint): TxCursor
  /** Resolves once transactions were added after the call; the builder then asks for a new cursor. Rejects on abort. */
  added(signal: AbortSignal): Promise<void>
  /** Gas up to which blocks are filled, where that is less than their limit; 0 and absent = none. */
  readonly effectiveGasLimit?: bigint
  /** False for one whose condition does not hold in the block under construction: it is given up. */
  mayTake?(transaction: SignedTransaction, env: Environment): boolean
  /** Limits on what a block takes from this source; read for each transaction. */
  maxDaSize?(): DaSizeLimits
}

/** Estimated compressed bytes (Fjord's measure); absent = no limit. */
export interface DaSizeLimits {
  transactionBytes?: number
  /** Of all signed transactions of the block. */
  blockBytes?: number
}

/** A walk over the pool that does not change it. */
export interface TxCursor {
  /** The best transaction that is left; undefined at the end. */
  peek(): SignedTransaction | undefined
  /** Passes over this one; the sender's next nonce comes up. (Taken into the block, or its nonce was used already.) */
  next(): void
  /** Passes over this one and all later ones of its sender (it does not fit the block, or is not executable now). */
  skipSender(): void
}
