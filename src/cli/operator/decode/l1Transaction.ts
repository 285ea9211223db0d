import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { type Hex, isHex, lowerHex } from '../../../lib/hex.ts'
import { BLOB_TX_TYPE, readNetworkForm, senderOf, TransactionReader } from '../../../rollup/protocol/index.ts'

/** The fields of an L1 transaction that derivation reads. */
export interface L1TransactionJson {
  hash: Hex | null
  type: number
  from: Hex | null
  to: Hex | null
  blobVersionedHashes?: Hex[]
}

export interface ReadL1Transaction {
  transaction: L1TransactionJson
  input: Uint8Array
  /** Blobs of the transaction's network encoding; otherwise empty. */
  blobs: Uint8Array[]
}

/** Reads a signed L1 transaction in its EIP-2718 encoding, of type 3 also with its blobs. Throws DecodeError. */
export function readL1Transaction(bytes: Uint8Array): ReadL1Transaction {
  const { raw, offset, blobs } = readNetworkForm(bytes) ?? { raw: bytes, offset: 0, blobs: [] }
  const reader = readFields(raw, offset)
  const { type, to } = reader
  return {
    transaction: {
      ...{ hash: keccak256Hex(raw), type, from: senderOrNull(raw), to },
      ...(type === BLOB_TX_TYPE ? { blobVersionedHashes: reader.blobVersionedHashes } : {}),
    },
    input: reader.bytes('input'),
    blobs,
  }
}

/** A fault's offset counts from the start of the whole input. */
function readFields(raw: Uint8Array, offset: number): TransactionReader {
  try {
    return new TransactionReader(raw)
  } catch (error) {
    if (!(error instanceof DecodeError) || error.at === undefined) throw error
    throw new DecodeError(error.message, { at: error.at + offset, cause: error })
  }
}

/** Reads a transaction of JSON-RPC. Members that derivation does not read may be missing. */
export function l1TransactionFromJson(json: Readonly<Record<string, unknown>>): L1TransactionJson {
  const hex = (value: unknown, bytes: number) => (isHex(value, bytes) ? lowerHex(value) : null)
  const type = isHex(json.type) ? Number(json.type) : 0
  const hashes = Array.isArray(json.blobVersionedHashes) ? json.blobVersionedHashes : undefined
  return {
    hash: hex(json.hash, 32),
    type: hashes === undefined ? type : BLOB_TX_TYPE,
    from: hex(json.from, 20),
    to: hex(json.to, 20),
    ...(hashes === undefined ? {} : { blobVersionedHashes: hashes.flatMap((hash) => hex(hash, 32) ?? []) }),
  }
}

/** null if no address can be recovered from the signature. */
function senderOrNull(raw: Uint8Array): Hex | null {
  try {
    return senderOf(raw)
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}
