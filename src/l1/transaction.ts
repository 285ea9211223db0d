import { concatBytes, EMPTY_BYTES } from '../lib/bytes.ts'
import { DecodeError } from '../lib/errors.ts'
import { keccak256, keccak256Hex } from '../lib/hash.ts'
import { fromHex, type Hex, normalizeHex, quantityToBigInt, quantityToNumber } from '../lib/hex.ts'
import { asArray, asObject, type JsonObject } from '../lib/jsonReader.ts'
import { encodeRlp, type RlpInput } from '../lib/rlp.ts'
import { publicKeyToAddress, recoverPublicKey } from '../lib/secp256k1.ts'
import { encodeDepositTx, isSystemTxFromJson } from '../rollup/protocol/transaction/deposit.ts'
import { type L1Transaction, ZERO_ADDRESS } from '../rollup/protocol/types.ts'
import { asHexText, isPresent } from './json.ts'

export interface ParsedTransaction {
  transaction: L1Transaction
  /** EIP-2718 encoding, as the transactions trie holds it. */
  encoded: Uint8Array
  /** The encoding with blobs, where they stand in the JSON: Anvil's transactions trie holds that one instead. */
  encodedWithBlobs?: Uint8Array
}

/** Members before the signature, in the order of the type's RLP list. */
const FIELDS_OF_TYPE: Readonly<Record<number, readonly string[]>> = {
  0: ['nonce', 'gasPrice', 'gas', 'to', 'value', 'input'],
  1: ['chainId', 'nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'accessList'],
  2: ['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'input', 'accessList'],
  3: [
    ...['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'input', 'accessList'],
    ...['maxFeePerBlobGas', 'blobVersionedHashes'],
  ],
  4: [
    ...['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'input', 'accessList'],
    'authorizationList',
  ],
}
const DEPOSIT_TYPE = 0x7e

/** A transaction whose fields are taken on trust, sender included. Throws DecodeError. */
export function readTransaction(json: unknown): L1Transaction {
  const object = asObject(json, 'transaction')
  return common(object, normalizeHex(object.hash, 32, 'transaction hash'), () =>
    normalizeHex(object.from, 20, 'transaction sender'),
  )
}

/**
 * Rebuilds the encoding of a transaction from its JSON, so that the block's transactions root proves it; hash and
 * sender are computed, not read. Throws DecodeError, also for a type this code does not know.
 */
export function parseTransaction(json: unknown): ParsedTransaction {
  const object = asObject(json, 'transaction')
  const type = typeOf(object)
  if (type === DEPOSIT_TYPE) return parseDeposit(object)
  const names = FIELDS_OF_TYPE[type]
  if (names === undefined) throw new DecodeError(`transaction: type ${type} is not supported`)
  const fields = names.map((name) => readField(object, name))
  const r = quantityToBigInt(object.r, 'transaction r')
  const s = quantityToBigInt(object.s, 'transaction s')
  const v = quantityToBigInt(type === 0 ? object.v : (object.yParity ?? object.v), 'transaction v')
  const list = [...fields, v, r, s]
  const encoded = withType(type, encodeRlp(list))
  const sender = () => recoverSender(type, fields, v, r, s)
  const parsed: ParsedTransaction = { transaction: common(object, keccak256Hex(encoded), sender), encoded }
  if (type === 3 && isPresent(object.blobs)) {
    parsed.encodedWithBlobs = withType(type, encodeRlp([list, ...readSidecar(object)]))
  }
  return parsed
}

/** Blobs, commitments and proofs in the order of EIP-4844, or of EIP-7594 after its version. */
function readSidecar(object: JsonObject): RlpInput[] {
  const read = (name: string): Uint8Array[] =>
    asArray(object[name], name).map((item) => fromHex(asHexText(item, name), undefined, name))
  const parts = [read('blobs'), read('commitments')]
  if (isPresent(object.cellProofs)) return [1n, ...parts, read('cellProofs')]
  return [...parts, read('proofs')]
}

function parseDeposit(object: JsonObject): ParsedTransaction {
  const from = normalizeHex(object.from, 20, 'deposit sender')
  const encoded = encodeDepositTx({
    sourceHash: normalizeHex(object.sourceHash, 32, 'deposit source hash'),
    from,
    to: isPresent(object.to) ? normalizeHex(object.to, 20, 'deposit recipient') : null,
    mint: isPresent(object.mint) ? quantityToBigInt(object.mint, 'deposit mint') : 0n,
    value: quantityToBigInt(object.value, 'deposit value'),
    gas: quantityToBigInt(object.gas, 'deposit gas'),
    isSystemTx: isSystemTxFromJson(object.isSystemTx),
    data: fromHex(asHexText(object.input, 'deposit data'), undefined, 'deposit data'),
  })
  return { transaction: common(object, keccak256Hex(encoded), () => from), encoded }
}

function common(object: JsonObject, hash: Hex, sender: () => Hex): L1Transaction {
  const type = typeOf(object)
  let from: Hex | undefined
  const transaction: L1Transaction = {
    hash,
    type,
    // Recovering a sender costs as much as all the rest, and derivation asks for those of the batch inbox only.
    get from() {
      from ??= sender()
      return from
    },
    to: isPresent(object.to) ? normalizeHex(object.to, 20, 'transaction recipient') : null,
    input: fromHex(asHexText(object.input, 'transaction input'), undefined, 'transaction input'),
  }
  if (isPresent(object.blobVersionedHashes)) {
    const hashes = asArray(object.blobVersionedHashes, 'blob hashes')
    transaction.blobVersionedHashes = hashes.map((value) => normalizeHex(value, 32, 'blob hash'))
  }
  return transaction
}

function typeOf(object: JsonObject): number {
  return isPresent(object.type) ? quantityToNumber(object.type, 'transaction type') : 0
}

function withType(type: number, body: Uint8Array): Uint8Array {
  return type === 0 ? body : concatBytes(Uint8Array.of(type), body)
}

function readField(object: JsonObject, name: string): RlpInput {
  const value = object[name]
  switch (name) {
    case 'to':
      return isPresent(value) ? fromHex(asHexText(value, name), 20, name) : EMPTY_BYTES
    case 'input':
      return fromHex(asHexText(value, name), undefined, name)
    case 'accessList':
      return isPresent(value) ? asArray(value, name).map(readAccess) : []
    case 'blobVersionedHashes':
      return asArray(value, name).map((hash) => fromHex(asHexText(hash, name), 32, name))
    case 'authorizationList':
      return asArray(value, name).map(readAuthorization)
    default:
      return quantityToBigInt(value, name)
  }
}

function readAccess(json: unknown): RlpInput {
  const { address, storageKeys } = asObject(json, 'access list entry')
  return [
    fromHex(asHexText(address, 'access list address'), 20, 'access list address'),
    asArray(storageKeys, 'storage keys').map((key) => fromHex(asHexText(key, 'storage key'), 32, 'storage key')),
  ]
}

function readAuthorization(json: unknown): RlpInput {
  const object = asObject(json, 'authorization')
  return [
    quantityToBigInt(object.chainId, 'authorization chain id'),
    fromHex(asHexText(object.address, 'authorization address'), 20, 'authorization address'),
    quantityToBigInt(object.nonce, 'authorization nonce'),
    quantityToBigInt(object.yParity ?? object.v, 'authorization parity'),
    quantityToBigInt(object.r, 'authorization r'),
    quantityToBigInt(object.s, 'authorization s'),
  ]
}

/** The signer's address; the zero address for a signature that no key makes (no real block holds one). */
function recoverSender(type: number, fields: readonly RlpInput[], v: bigint, r: bigint, s: bigint): Hex {
  let yParity = v
  let signed = fields
  if (type === 0 && v >= 35n) {
    // EIP-155: v = 35 + 2 * chainId + parity, and the chain id is signed along.
    yParity = (v - 35n) % 2n
    signed = [...fields, (v - 35n) / 2n, 0, 0]
  } else if (type === 0) {
    yParity = v - 27n
  }
  const hash = keccak256(withType(type, encodeRlp(signed)))
  try {
    return publicKeyToAddress(recoverPublicKey(hash, word(r), word(s), Number(yParity)))
  } catch (error) {
    if (error instanceof DecodeError) return ZERO_ADDRESS
    throw error
  }
}

function word(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, '0'), 32)
}
