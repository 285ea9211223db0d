import type { Hex } from '../../lib/hex.ts'
import type {
  DepositTransaction,
  PostExecTransaction,
  SignedTransaction as UnconditionalTransaction,
} from '../../rollup/protocol/index.ts'
import type { BlockHeader as ConsensusHeader } from '../../rollup/protocol/payload/blockHeader.ts'

export type {
  AccessListEntry,
  Authorization,
  DepositTransaction,
  PostExecTransaction,
} from '../../rollup/protocol/index.ts'

// Blocks and their parts. Hashes and addresses are lower-case hex. Gas, wei and fees are bigint. Numbers, timestamps,
// indices and nonces are `number`.

/** A block header with its hash. Optional members appear with their fork. */
export interface BlockHeader extends ConsensusHeader {
  hash: Hex
  baseFeePerGas: bigint
}

/** Condition for including a transaction in a block (eth_sendRawTransactionConditional). */
export interface TransactionCondition {
  /** By address: the storage root, or slots and their values, 32 bytes each. */
  knownAccounts: Record<Hex, Hex | Record<Hex, Hex>>
  blocks: { min?: number; max?: number }
  timestamps: { min?: number; max?: number }
}

/** A transaction with the condition that its sender set, if any. */
export interface SignedTransaction extends UnconditionalTransaction {
  condition?: TransactionCondition
}

export type Transaction = SignedTransaction | DepositTransaction | PostExecTransaction

/** Deposits and post-exec transactions have no signature and pay no fee. */
export function isSigned(transaction: Transaction): transaction is SignedTransaction {
  return transaction.type !== 0x7e && transaction.type !== 0x7d
}

export interface Log {
  address: Hex
  topics: Hex[]
  data: Uint8Array
  /** Position within the block. */
  logIndex: number
}

/** The L1 cost members of a receipt. Missing for deposits, and if the block has no L1-info deposit. */
export interface L1FeeFields {
  l1GasPrice: bigint
  l1GasUsed: bigint
  l1Fee: bigint
  /** Before Ecotone, as decimal text (scalar / 10^6). */
  l1FeeScalar?: string
  /** Ecotone. */
  l1BlobBaseFee?: bigint
  l1BaseFeeScalar?: bigint
  l1BlobBaseFeeScalar?: bigint
  /** Isthmus, if at least one of the two is not zero. */
  operatorFeeScalar?: bigint
  operatorFeeConstant?: bigint
  /** Jovian. */
  daFootprintGasScalar?: bigint
  /** Jovian: the transaction's DA footprint (`blobGasUsed` in JSON). */
  daFootprint?: bigint
}

export interface Receipt {
  /** Transaction type: 0x7e for deposits, 0x7d for the post-exec transaction. */
  type: number
  status: 0 | 1
  cumulativeGasUsed: bigint
  gasUsed: bigint
  /** 256 bytes. */
  logsBloom: Hex
  logs: Log[]
  transactionHash: Hex
  transactionIndex: number
  blockHash: Hex
  blockNumber: number
  from: Hex
  to: Hex | null
  /** Contract creations only. */
  contractAddress: Hex | null
  /** 0 for transactions without a signature. */
  effectiveGasPrice: bigint
  /** Deposits from Regolith on: the sender's nonce before execution. */
  depositNonce?: number
  /** Deposits from Canyon on: 1. */
  depositReceiptVersion?: number
  l1Fee?: L1FeeFields
  /** Signed transactions from Lagoon on: gas that the block refunded, not included in `gasUsed`; null for none. */
  gasRefund?: bigint | null
}

export interface Block {
  header: BlockHeader
  transactions: Transaction[]
  /** Bytes of the block's RLP encoding (`size` in JSON). */
  sizeBytes: number
}

export interface TransactionLocation {
  transaction: Transaction
  block: BlockHeader
  index: number
}
