import { DecodeError } from '../lib/errors.ts'
import { keccak256Hex } from '../lib/hash.ts'
import { type Hex, normalizeHex } from '../lib/hex.ts'
import { JsonObjectReader, jsonBytes } from '../lib/jsonReader.ts'
import { networkForm, senderOf, transactionFromJson } from '../rollup/protocol/index.ts'
import { type L1Transaction, ZERO_ADDRESS } from '../rollup/protocol/types.ts'

export interface ParsedTransaction {
  transaction: L1Transaction
  /** EIP-2718 encoding, as the transactions trie holds it. */
  encoded: Uint8Array
  /** The encoding with blobs, where they stand in the JSON: Anvil's transactions trie holds that one instead. */
  encodedWithBlobs?: Uint8Array
}

/** A transaction whose fields are taken on trust, sender included. Throws DecodeError. */
export function readTransaction(json: unknown): L1Transaction {
  const object = new JsonObjectReader(json, 'transaction')
  return common(object, object.hex('hash', 32), () => object.hex('from', 20))
}

/**
 * Rebuilds the encoding of a transaction from its JSON, so that the block's transactions root proves it; hash and
 * sender are computed, not read. Throws DecodeError, also for a type this code does not know.
 */
export function parseTransaction(json: unknown): ParsedTransaction {
  const object = new JsonObjectReader(json, 'transaction')
  const encoded = transactionFromJson(json)
  const parsed: ParsedTransaction = {
    transaction: common(object, keccak256Hex(encoded), () => senderOrZero(encoded)),
    encoded,
  }
  if (object.has('blobs')) parsed.encodedWithBlobs = withBlobs(encoded, object)
  return parsed
}

function withBlobs(encoded: Uint8Array, object: JsonObjectReader): Uint8Array {
  const read = (name: string): Uint8Array[] => object.array(name).map((item) => jsonBytes(item, name))
  const version = object.has('cellProofs') ? 1 : 0
  const proofs = read(version === 1 ? 'cellProofs' : 'proofs')
  return networkForm(encoded, { version, blobs: read('blobs'), commitments: read('commitments'), proofs })
}

function common(object: JsonObjectReader, hash: Hex, sender: () => Hex): L1Transaction {
  let from: Hex | undefined
  const transaction: L1Transaction = {
    hash,
    type: object.has('type') ? object.quantityNumber('type') : 0,
    // Recovering a sender costs as much as all the rest, and derivation asks for those of the batch inbox only.
    get from() {
      from ??= sender()
      return from
    },
    to: object.optionalHex('to', 20) ?? null,
    input: object.bytes('input'),
  }
  const blobHashes = object.optionalArray('blobVersionedHashes')?.map((value) => normalizeHex(value, 32, 'blob hash'))
  if (blobHashes !== undefined) transaction.blobVersionedHashes = blobHashes
  return transaction
}

/** The zero address for a signature that no key makes (no real block holds one). */
function senderOrZero(encoded: Uint8Array): Hex {
  try {
    return senderOf(encoded)
  } catch (error) {
    if (error instanceof DecodeError) return ZERO_ADDRESS
    throw error
  }
}
