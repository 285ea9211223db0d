import type { Hex } from '../../lib/hex.ts'
import type { PostExecTx } from '../../rollup/protocol/index.ts'
import type { Withdrawal } from '../../rollup/protocol/types.ts'

// Blocks and what is in them. Hashes and addresses are lower-case hex; gas, wei and fees are bigint; numbers, timestamps,
// indices and nonces are `number`.

/** A block header with its hash. Optional members appear with their fork. */
export interface BlockHeader {
  hash: Hex
  parentHash: Hex
  sha3Uncles: Hex
  miner: Hex
  stateRoot: Hex
  transactionsRoot: Hex
  receiptsRoot: Hex
  /** 256 bytes. */
  logsBloom: Hex
  /** Zero on every OP Stack block; the genesis file may say otherwise. */
  difficulty: bigint
  number: number
  gasLimit: bigint
  gasUsed: bigint
  timestamp: number
  extraData: Hex
  mixHash: Hex
  /** 8 bytes. */
  nonce: Hex
  baseFeePerGas: bigint
  /** Canyon: root of the empty trie; Isthmus: storage root of L2ToL1MessagePasser. */
  withdrawalsRoot?: Hex
  /** Ecotone: 0; Jovian: the block's DA footprint. */
  blobGasUsed?: bigint
  excessBlobGas?: bigint
  parentBeaconBlockRoot?: Hex
  /** Isthmus: sha256 of nothing. */
  requestsHash?: Hex
}

export interface AccessListEntry {
  address: Hex
  /** 32 bytes each. */
  storageKeys: Hex[]
}

/**
 * EIP-7702; `authority` is the signer, undefined when the signature is bad (the entry is then skipped). It is recovered
 * when first read, which takes 40 µs.
 */
export interface Authorization {
  readonly chainId: bigint
  readonly address: Hex
  readonly nonce: bigint
  readonly yParity: number
  readonly r: bigint
  readonly s: bigint
  readonly authority: Hex | undefined
}

/** What has to hold for a transaction to go into a block (eth_sendRawTransactionConditional). */
export interface TransactionCondition {
  /** By address: the storage root, or slots and their values, 32 bytes each. */
  knownAccounts: Record<Hex, Hex | Record<Hex, Hex>>
  blocks: { min?: number; max?: number }
  timestamps: { min?: number; max?: number }
}

/** Legacy (0), EIP-2930 (1), EIP-1559 (2) or EIP-7702 (4), sender recovered. */
export interface SignedTransaction {
  /** Of what its sender asked for beside it; no part of what is signed. */
  condition?: TransactionCondition
  type: 0 | 1 | 2 | 4
  hash: Hex
  from: Hex
  /** null: contract creation. */
  to: Hex | null
  nonce: number
  gasLimit: bigint
  value: bigint
  data: Uint8Array
  /** Absent for legacy transactions without replay protection. */
  chainId?: bigint
  /** Equal to the gas price for types 0 and 1. */
  maxFeePerGas: bigint
  /** Equal to the gas price for types 0 and 1. */
  maxPriorityFeePerGas: bigint
  /** Empty for type 0. */
  accessList: AccessListEntry[]
  /** Type 4 only. */
  authorizationList?: Authorization[]
  /** As on the wire: 27/28 or EIP-155 for type 0, the parity otherwise. */
  v: bigint
  r: bigint
  s: bigint
  yParity: 0 | 1
  /** EIP-2718 encoding. */
  raw: Uint8Array
}

/** Type 0x7e (specs: deposits). */
export interface DepositTransaction {
  type: 0x7e
  hash: Hex
  sourceHash: Hex
  from: Hex
  to: Hex | null
  /** Wei; 0 = none. */
  mint: bigint
  value: bigint
  gasLimit: bigint
  isSystemTx: boolean
  data: Uint8Array
  raw: Uint8Array
}

/**
 * Type 0x7d (Lagoon; specs: lagoon/post-exec): the sequencer puts it behind the transactions that it refunds. Nobody signs it, no EVM
 * runs it, and it has no recipient.
 */
export interface PostExecTransaction {
  type: 0x7d
  hash: Hex
  /** The zero address. */
  from: Hex
  /** RLP of the payload: the encoding without its type. */
  data: Uint8Array
  payload: PostExecTx
  raw: Uint8Array
}

export type Transaction = SignedTransaction | DepositTransaction | PostExecTransaction

/** A transaction that somebody has signed and pays for. */
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

/** The L1 cost members of a receipt of a transaction that is no deposit (absent with a block that has no L1-info deposit). */
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
  /** Isthmus, when at least one of the two is not zero. */
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
  /** Of a contract creation. */
  contractAddress: Hex | null
  /** 0 for transactions that nobody signed. */
  effectiveGasPrice: bigint
  /** Deposits from Regolith on: the sender's nonce before execution. */
  depositNonce?: number
  /** Deposits from Canyon on: 1. */
  depositReceiptVersion?: number
  l1Fee?: L1FeeFields
  /** Signed transactions from Lagoon on: gas that the block refunded, which `gasUsed` is without; null for none. */
  gasRefund?: bigint | null
}

export interface Block {
  header: BlockHeader
  transactions: Transaction[]
  /** Canyon: always empty on OP chains. */
  withdrawals?: Withdrawal[]
  /** Bytes of the block's RLP encoding (`size` in JSON). */
  sizeBytes: number
}

export interface TransactionLocation {
  transaction: Transaction
  block: BlockHeader
  index: number
}
