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
 * EIP-7702; `authority` is the signer, undefined when the signature is bad (the entry is then skipped). It is recovered
 * when first read, which takes 40 µs.
 */
export interface Authorization extends AuthorizationFields {
  readonly authority: Hex | undefined
}

/** Legacy (0), EIP-2930 (1), EIP-1559 (2), EIP-4844 (3, on L1 only) and EIP-7702 (4). */
export type SignedType = 0 | 1 | 2 | 3 | 4

/** What somebody signs. Members that the type has no field for are not encoded. */
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
  /** As on the wire: 27/28 or EIP-155 for type 0, the parity otherwise. */
  v: bigint
  r: bigint
  s: bigint
}

/** A transaction of an L2, sender recovered. */
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

/** What a block of an L2 holds. */
export type Transaction = SignedTransaction | DepositTransaction | PostExecTransaction
