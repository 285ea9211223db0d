import { keccak256Hex } from '../../lib/hash.ts'
import type { Hex } from '../../lib/hex.ts'
import type { UnsignedTransaction } from '../../rollup/protocol/index.ts'
import type { FeeCaps } from './fees.ts'

/** An unsigned transaction without value and access list. EIP-4844 if it has blobs, else EIP-1559. */
export interface L1Tx {
  chainId: bigint
  nonce: number
  fees: FeeCaps
  gasLimit: bigint
  to: Hex
  data: Uint8Array
  /** Versioned hashes. */
  blobHashes?: readonly Hex[] | undefined
}

export interface SignedTx {
  hash: Hex
  /** EIP-2718 encoding as in a block, without the blobs themselves. */
  raw: Uint8Array
}

/** Converts to the type of the protocol's codec. */
export function unsignedOf({ fees, blobHashes, ...tx }: L1Tx): UnsignedTransaction {
  const { tip: maxPriorityFeePerGas, feeCap: maxFeePerGas, blobFeeCap: maxFeePerBlobGas = 0n } = fees
  const common = { ...tx, maxPriorityFeePerGas, maxFeePerGas, value: 0n, accessList: [] }
  if (blobHashes === undefined) return { ...common, type: 2 }
  return { ...common, type: 3, maxFeePerBlobGas, blobVersionedHashes: blobHashes }
}

export function signedTx(raw: Uint8Array): SignedTx {
  return { hash: keccak256Hex(raw), raw }
}
