import { DecodeError } from '../lib/errors.ts'
import { keccak256Hex } from '../lib/hash.ts'
import { type Hex, normalizeHex } from '../lib/hex.ts'
import { JsonObjectReader, jsonBytes } from '../lib/jsonReader.ts'
import { networkForm, senderOf, transactionFromJson } from '../rollup/protocol/index.ts'
import { type L1Transaction, ZERO_ADDRESS } from '../rollup/protocol/types.ts'

export interface ParsedTransaction {
  transaction: L1Transaction
  /** EIP-2718 encoding, as in the transactions trie. */
  encoded: Uint8Array
  /** The encoding with blobs, if the JSON contains them. Anvil's transactions trie contains this encoding instead. */
  encodedWithBlobs?: Uint8Array
}

/**
 * Parses a transaction of a trusted endpoint: all fields, including the sender, are taken as they are. Throws
 * DecodeError.
 */
export function readTransaction(json: unknown): L1Transaction {
  const object = new JsonObjectReader(json, 'transaction')
  return common(object, object.hex('hash', 32), () => object.hex('from', 20))
}

/**
 * Rebuilds a transaction's encoding from its JSON, so that the block's transactions root proves it. Hash and sender are
 * computed from the encoding. Throws DecodeError, also for an unknown type.
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
    // Recovering a sender costs as much as all the rest. Derivation needs only the senders of batch inbox transactions.
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

/** Returns the zero address for an invalid signature. No real block contains one. */
function senderOrZero(encoded: Uint8Array): Hex {
  try {
    return senderOf(encoded)
  } catch (error) {
    if (error instanceof DecodeError) return ZERO_ADDRESS
    throw error
  }
}
