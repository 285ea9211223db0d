import { bytesToBigInt, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { encodeRlp, encodeTypedRlp, type RlpInput } from '../../../lib/rlp.ts'
import type { RecoverableSignature } from '../../../lib/secp256k1.ts'
import type { DepositTx } from '../types.ts'
import { type FieldName, fieldsOf } from './fields.ts'
import type { AccessListEntry, AuthorizationFields, Signature, UnsignedTransaction } from './types.ts'

/** The EIP-2718 encoding. Throws RangeError for a missing member, and DecodeError for a member that is not hex. */
export function encodeTransaction(tx: TypedMembers): Uint8Array {
  return encodeFields(
    tx.type,
    fieldsOf(tx.type).map((name) => itemOf(tx, name)),
  )
}

const SIGNATURE_FIELDS = 3

/** The hash that the sender signs. */
export function signingHash(tx: UnsignedTransaction): Uint8Array {
  const items = fieldsOf(tx.type)
    .slice(0, -SIGNATURE_FIELDS)
    .map((name) => itemOf(tx, name))
  // EIP-155.
  if (tx.type === 0 && tx.chainId !== undefined) items.push(tx.chainId, 0, 0)
  return keccak256(encodeFields(tx.type, items))
}

/** The transaction's encoding with this signature of its `signingHash`. */
export function encodeSigned(tx: UnsignedTransaction, { r, s, yParity }: RecoverableSignature): Uint8Array {
  const parity = BigInt(yParity)
  const v = tx.type !== 0 ? parity : parity + (tx.chainId === undefined ? 27n : tx.chainId * 2n + 35n)
  return encodeTransaction({ ...tx, v, r: bytesToBigInt(r), s: bytesToBigInt(s) })
}

/** The list after the type byte. Legacy transactions have no type byte. */
export function encodeFields(type: number, items: readonly RlpInput[]): Uint8Array {
  return type === 0 ? encodeRlp(items) : encodeTypedRlp(type, items)
}

export type Member =
  | bigint
  | number
  | boolean
  | Hex
  | null
  | Uint8Array
  | readonly (Hex | AccessListEntry | AuthorizationFields)[]
/** Members of all transaction types. Members that the type does not have are ignored. */
export type TypedMembers = Partial<Omit<UnsignedTransaction, 'type'> & Signature & Omit<DepositTx, 'gas'>> & {
  type: number
}

export function memberOf(tx: TypedMembers, name: FieldName): Member | undefined {
  switch (name) {
    case 'gas':
      return tx.gasLimit
    case 'gasPrice':
      return tx.maxFeePerGas
    case 'input':
      return tx.data
    default:
      return tx[name]
  }
}

function itemOf(tx: TypedMembers, name: FieldName): RlpInput {
  const value = memberOf(tx, name)
  if (value === undefined) throw new RangeError(`transaction ${name}: missing`)
  return toItem(value, name)
}

function toItem(value: Member, name: FieldName): RlpInput {
  if (value === null) return EMPTY_BYTES
  if (typeof value === 'string') return fromHex(value, name === 'sourceHash' ? 32 : 20, name)
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value !== 'object' || value instanceof Uint8Array) return value
  return value.map((entry) => {
    if (typeof entry === 'string') return fromHex(entry, 32, name)
    if ('storageKeys' in entry)
      return [fromHex(entry.address, 20, name), entry.storageKeys.map((key) => fromHex(key, 32, name))]
    return [entry.chainId, fromHex(entry.address, 20, name), entry.nonce, entry.yParity, entry.r, entry.s]
  })
}
