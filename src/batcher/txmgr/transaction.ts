import { keccak256Hex } from '../../lib/hash.ts'
import type { Hex } from '../../lib/hex.ts'
import type { UnsignedTransaction } from '../../rollup/protocol/index.ts'

/** Additional fields of blob transactions (EIP-4844). */
export interface BlobFields {
  /** Wei per blob gas. */
  maxFeePerBlobGas: bigint
  versionedHashes: readonly Hex[]
}

/** An unsigned transaction without access list. EIP-4844 if `blob` is set, else EIP-1559. */
export interface L1Tx {
  chainId: bigint
  nonce: number
  /** Wei per gas. */
  maxPriorityFeePerGas: bigint
  /** Wei per gas. */
  maxFeePerGas: bigint
  gasLimit: bigint
  to: Hex
  value: bigint
  data: Uint8Array
  blob?: BlobFields
}

export interface SignedTx {
  hash: Hex
  /** EIP-2718 encoding as in a block, without the blobs themselves. */
  raw: Uint8Array
}

/** Converts to the type of the protocol's codec. */
export function unsignedOf({ blob, ...tx }: L1Tx): UnsignedTransaction {
  if (blob === undefined) return { ...tx, type: 2, accessList: [] }
  const { maxFeePerBlobGas, versionedHashes: blobVersionedHashes } = blob
  return { ...tx, type: 3, accessList: [], maxFeePerBlobGas, blobVersionedHashes }
}

export function signedTx(raw: Uint8Array): SignedTx {
  return { hash: keccak256Hex(raw), raw }
}
