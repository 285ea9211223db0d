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

/** A block under construction. Without `noTxPool` it adds pool transactions until it is sealed. */
export interface BuildJob {
  /**
   * Stops adding transactions and resolves with the block. Later calls give the same block. Rejects if the build
   * failed.
   */
  seal(): Promise<BuiltBlock>
  cancel(): void
}

export interface BuildRequest {
  parentHash: Hex
  attributes: PayloadAttributes
  /** Undefined, or with `noTxPool`: forced transactions only. */
  txSource?: TxSource | undefined
  /**
   * From Lagoon on, if the pool is used: refunds transactions for accounts and slots that earlier transactions of the
   * block warmed. Default false.
   */
  refundsWarming?: boolean
}

/** The part of the transaction pool that the builder needs. */
export interface TxSource {
  /** Executable transactions by decreasing effective tip at `baseFee`, each sender's in nonce order. */
  best(baseFee: bigint): TxCursor
  /** Resolves when transactions were added after the call. The builder then requests a new cursor. Rejects on abort. */
  added(signal: AbortSignal): Promise<void>
  /** Gas up to which blocks are filled, if that is less than their limit. 0 or undefined = no limit. */
  readonly effectiveGasLimit?: bigint
  /** False if the transaction's condition does not hold in the block under construction. The pool drops it. */
  mayTake?(transaction: SignedTransaction, env: Environment): boolean
  /** Limits of the data taken from this source. Read for each transaction. */
  maxDaSize?(): DaSizeLimits
}

/** Estimated compressed bytes (Fjord's measure); undefined = no limit. */
export interface DaSizeLimits {
  transactionBytes?: number
  /** Total of the block's signed transactions. */
  blockBytes?: number
}

/** Iterates over the pool without changing it. */
export interface TxCursor {
  /** The best remaining transaction; undefined at the end. */
  peek(): SignedTransaction | undefined
  /**
   * Moves past this transaction to the sender's next nonce. Call it if the transaction was added to the block, or its
   * nonce was used.
   */
  next(): void
  /**
   * Moves past this and all later transactions of the sender. Call it if the transaction does not fit the block or is
   * not executable now.
   */
  skipSender(): void
}
