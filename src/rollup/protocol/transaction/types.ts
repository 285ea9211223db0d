import type { Hex } from '../../../lib/hex.ts'
import type { DepositTx } from '../types.ts'
import type { PostExecTx } from './postExec.ts'

export interface AccessListEntry {
  address: Hex
  /** 32 bytes each. */
  storageKeys: Hex[]
}

/** Members of an EIP-7702 authorization. */
export interface AuthorizationFields {
  readonly chainId: bigint
  readonly address: Hex
  readonly nonce: bigint
  readonly yParity: number
  readonly r: bigint
  readonly s: bigint
}

/**
 * EIP-7702 authorization. `authority` is the signer, undefined for an invalid signature; the entry is then skipped. The
 * signer is recovered on first access, which takes 40 µs.
 */
export interface Authorization extends AuthorizationFields {
  readonly authority: Hex | undefined
}

/** Legacy (0), EIP-2930 (1), EIP-1559 (2), EIP-4844 (3, on L1 only) and EIP-7702 (4). */
export type SignedType = 0 | 1 | 2 | 3 | 4

/** The signed part of a transaction. Members that the type does not have are not encoded. */
export interface UnsignedTransaction {
  type: SignedType
  /** Absent for legacy transactions without replay protection. */
  chainId?: bigint
  nonce: number
  /** Wei per gas. The gas price of types 0 and 1. */
  maxFeePerGas: bigint
  /** Wei per gas. Equal to the gas price for types 0 and 1. */
  maxPriorityFeePerGas: bigint
  gasLimit: bigint
  /** null: contract creation. */
  to: Hex | null
  value: bigint
  data: Uint8Array
  /** Empty for type 0. */
  accessList: readonly AccessListEntry[]
  /** Type 3 only; wei per blob gas. */
  maxFeePerBlobGas?: bigint
  /** Type 3 only. */
  blobVersionedHashes?: readonly Hex[]
  /** Type 4 only. */
  authorizationList?: readonly AuthorizationFields[]
}

export interface Signature {
  /** The wire value: 27/28 or EIP-155 for type 0, the parity for other types. */
  v: bigint
  r: bigint
  s: bigint
}

/** An L2 transaction with its recovered sender. */
export interface SignedTransaction extends UnsignedTransaction, Signature {
  type: Exclude<SignedType, 3>
  hash: Hex
  from: Hex
  accessList: AccessListEntry[]
  authorizationList?: Authorization[]
  yParity: 0 | 1
  /** EIP-2718 encoding. */
  raw: Uint8Array
}

/** Type 0x7e (specs: deposits). */
export interface DepositTransaction extends Omit<DepositTx, 'gas'> {
  type: 0x7e
  hash: Hex
  gasLimit: bigint
  raw: Uint8Array
}

/**
 * Type 0x7d (Lagoon; specs: lagoon/post-exec). The sequencer appends it after the transactions that it refunds. It is
 * not signed, not executed in the EVM, and has no recipient.
 */
export interface PostExecTransaction {
  type: 0x7d
  hash: Hex
  /** The zero address. */
  from: Hex
  /** RLP of the payload: the encoding without the type byte. */
  data: Uint8Array
  payload: PostExecTx
  raw: Uint8Array
}

export type Transaction = SignedTransaction | DepositTransaction | PostExecTransaction
