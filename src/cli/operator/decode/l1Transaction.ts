import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { keccak256, keccak256Hex } from '../../../lib/hash.ts'
import { type Hex, isHex, lowerHex, toHex } from '../../../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpItem, rlpBytes, rlpList, rlpNumber } from '../../../lib/rlp.ts'
import { publicKeyToAddress, recoverPublicKey } from '../../../lib/secp256k1.ts'

/** An L1 transaction as far as derivation cares. */
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
  /** Of the form in which blob transactions travel between nodes. */
  blobs: Uint8Array[]
}

const BLOB_TX_TYPE = 3
/** Members of each type, and where the recipient and the input stand; v, r and s are the last three. */
const SHAPES: Readonly<Record<number, { count: number; to: number; input: number }>> = {
  0: { count: 9, to: 3, input: 5 },
  1: { count: 11, to: 4, input: 6 },
  2: { count: 12, to: 5, input: 7 },
  3: { count: 14, to: 5, input: 7 },
  4: { count: 13, to: 5, input: 7 },
}

/** A signed L1 transaction in its EIP-2718 encoding, of type 3 also with its blobs. Throws DecodeError. */
export function readL1Transaction(raw: Uint8Array): ReadL1Transaction {
  const first = raw[0] ?? 0
  const type = first >= 0xc0 ? 0 : first
  const shape = SHAPES[type]
  if (shape === undefined || (type === 0 && first < 0xc0))
    throw new DecodeError(`transaction type ${first} is not known`)
  const outer = rlpList(decodeRlp(type === 0 ? raw : raw.subarray(1)), 'transaction')
  const isNetworkForm = type === BLOB_TX_TYPE && Array.isArray(outer[0])
  const fields = isNetworkForm ? rlpList(outer[0], 'blob transaction') : outer
  if (fields.length !== shape.count) {
    throw new DecodeError(`transaction of type ${type} has ${fields.length} members, expected ${shape.count}`)
  }
  const to = rlpBytes(fields[shape.to], 'transaction recipient')
  if (to.length !== 0 && to.length !== 20) throw new DecodeError(`transaction recipient has ${to.length} bytes`)
  const encoded = isNetworkForm ? concatBytes(Uint8Array.of(type), encodeRlp(fields)) : raw
  const hashes =
    type === BLOB_TX_TYPE
      ? rlpList(fields[10], 'blob hashes').map((hash) => toHex(rlpBytes(hash, 'blob hash', 32)))
      : undefined
  return {
    transaction: {
      hash: keccak256Hex(encoded),
      type,
      from: senderOf(type, fields),
      to: to.length === 0 ? null : toHex(to),
      ...(hashes === undefined ? {} : { blobVersionedHashes: hashes }),
    },
    input: rlpBytes(fields[shape.input], 'transaction input'),
    blobs: isNetworkForm ? blobsOf(outer) : [],
  }
}

/** A transaction as JSON-RPC gives it; members that derivation does not read may be missing. */
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

/** `[tx, blobs, …]`, or `[tx, version, blobs, …]` since cell proofs. */
function blobsOf(outer: readonly RlpItem[]): Uint8Array[] {
  const list = Array.isArray(outer[1]) ? outer[1] : outer[2]
  return rlpList(list, 'blobs').map((blob) => rlpBytes(blob, 'blob'))
}

/** null for a signature that is nobody's. */
function senderOf(type: number, fields: readonly RlpItem[]): Hex | null {
  const [vItem, r, s] = fields.slice(-3)
  const unsigned = fields.slice(0, -3)
  const v = rlpNumber(vItem, 'transaction v')
  const isProtected = type === 0 && v >= 35
  const parity = type !== 0 ? v : isProtected ? (v - 35) % 2 : v - 27
  const signed = isProtected ? [...unsigned, Math.floor((v - 35) / 2), 0, 0] : unsigned
  const encoded = encodeRlp(signed)
  const hash = keccak256(type === 0 ? encoded : concatBytes(Uint8Array.of(type), encoded))
  try {
    return publicKeyToAddress(recoverPublicKey(hash, rlpBytes(r, 'r'), rlpBytes(s, 's'), parity))
  } catch (error) {
    if (error instanceof DecodeError || error instanceof RangeError) return null
    throw error
  }
}
