import { concatBytes } from '../../lib/bytes.ts'
import { keccak256, keccak256Hex } from '../../lib/hash.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import type { RecoverableSignature } from '../../lib/secp256k1.ts'

/** What blob transactions have beside the others (EIP-4844). */
export interface BlobFields {
  /** Wei per blob gas. */
  maxFeePerBlobGas: bigint
  versionedHashes: readonly Hex[]
}

/** An unsigned transaction without access list: EIP-1559, or EIP-4844 where it names blobs. */
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
  /** EIP-2718 encoding as it is in a block: without the blobs themselves. */
  raw: Uint8Array
}

/** EIP-2718 type bytes of EIP-1559 and EIP-4844 transactions. */
const DYNAMIC_FEE_TX_TYPE = 0x02
const BLOB_TX_TYPE = 0x03

function fieldsOf(tx: L1Tx): RlpInput[] {
  const fields: RlpInput[] = [
    tx.chainId,
    tx.nonce,
    tx.maxPriorityFeePerGas,
    tx.maxFeePerGas,
    tx.gasLimit,
    fromHex(tx.to, 20, 'transaction recipient'),
    tx.value,
    tx.data,
    [],
  ]
  if (tx.blob !== undefined) {
    const hashes = tx.blob.versionedHashes.map((hash) => fromHex(hash, 32, 'versioned hash'))
    fields.push(tx.blob.maxFeePerBlobGas, hashes)
  }
  return fields
}

function typed(tx: L1Tx, fields: RlpInput[]): Uint8Array {
  const type = tx.blob === undefined ? DYNAMIC_FEE_TX_TYPE : BLOB_TX_TYPE
  return concatBytes(Uint8Array.of(type), encodeRlp(fields))
}

/** The hash that the sender signs (EIP-1559, EIP-4844). */
export function signingHash(tx: L1Tx): Uint8Array {
  return keccak256(typed(tx, fieldsOf(tx)))
}

export function encodeSignedTx(tx: L1Tx, signature: RecoverableSignature): SignedTx {
  const raw = typed(tx, [
    ...fieldsOf(tx),
    signature.yParity,
    stripLeadingZeros(signature.r),
    stripLeadingZeros(signature.s),
  ])
  return { hash: keccak256Hex(raw), raw }
}

function stripLeadingZeros(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length && bytes[start] === 0) start++
  return bytes.subarray(start)
}
