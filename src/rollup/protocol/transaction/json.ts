import { concatBytes, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, quantityToNumber, show, toHex, toQuantity } from '../../../lib/hex.ts'
import { asArray, asObject, type JsonObject, type JsonValue, jsonBytes } from '../../../lib/jsonReader.ts'
import type { RlpInput } from '../../../lib/rlp.ts'
import { encodeFields, type Member, memberOf, type TypedMembers } from './encode.ts'
import { DEPOSIT_TX_TYPE, type FieldName, fieldsOf, POST_EXEC_TYPE_BYTE } from './fields.ts'
import type { Transaction } from './types.ts'

type Json = { [name: string]: JsonValue }

/**
 * Converts a JSON-RPC transaction directly to its EIP-2718 encoding. Only the form is validated: the hash, or the
 * block's transactions root, proves the rest. Throws DecodeError, also for an unknown type.
 */
export function transactionFromJson(json: unknown): Uint8Array {
  const object = asObject(json, 'transaction')
  const type = typeOfJson(object)
  // The JSON of this type has no other fields (specs: lagoon/post-exec, "Generic Transaction Interface
  // Representation").
  if (type === POST_EXEC_TYPE_BYTE)
    return concatBytes(Uint8Array.of(type), jsonBytes(object.input, 'transaction input'))
  return encodeFields(
    type,
    fieldsOf(type).map((name) => itemOf(object, name, type)),
  )
}

/** EIP-2718 type. Absent means legacy. */
export function typeOfJson({ type }: JsonObject): number {
  return type === undefined || type === null ? 0 : quantityToNumber(type, 'transaction type')
}

/** The JSON of a transaction without its position in a block, in geth's form. */
export function transactionToJson(tx: Transaction): Json {
  const common = { type: toQuantity(tx.type), hash: tx.hash, from: tx.from }
  // Fields that do not apply to this type are omitted.
  if (tx.type === POST_EXEC_TYPE_BYTE) return { ...common, gas: '0x0', input: toHex(tx.data), value: '0x0' }
  if (tx.type === DEPOSIT_TX_TYPE) {
    const { isSystemTx, ...fields } = fieldsToJson(tx)
    return { ...common, ...fields, ...(isSystemTx === true ? { isSystemTx } : {}) }
  }
  return {
    ...common,
    ...(tx.chainId === undefined ? {} : { chainId: toQuantity(tx.chainId) }),
    ...fieldsToJson(tx),
    ...(tx.type === 0 ? {} : { yParity: toQuantity(tx.yParity) }),
  }
}

/** The fields of the type that the transaction has. An unsigned transaction has no signature. */
export function fieldsToJson(tx: TypedMembers): Json {
  const json: Json = {}
  for (const name of fieldsOf(tx.type)) {
    const value = memberOf(tx, name)
    if (value !== undefined) json[name] = jsonOf(value)
  }
  return json
}

function jsonOf(value: Member): JsonValue {
  if (typeof value === 'bigint' || typeof value === 'number') return toQuantity(value)
  if (value instanceof Uint8Array) return toHex(value)
  if (value === null || typeof value !== 'object') return value
  return value.map((entry) => {
    if (typeof entry === 'string') return entry
    if ('storageKeys' in entry) return { address: entry.address, storageKeys: [...entry.storageKeys] }
    const { chainId, address, nonce, yParity, r, s } = entry
    return {
      ...{ chainId: toQuantity(chainId), address, nonce: toQuantity(nonce) },
      ...{ yParity: toQuantity(yParity), r: toQuantity(r), s: toQuantity(s) },
    }
  })
}

function itemOf(json: JsonObject, name: FieldName, type: number): RlpInput {
  const value = json[name] ?? undefined
  const what = `transaction ${name}`
  switch (name) {
    case 'to':
      return value === undefined ? EMPTY_BYTES : jsonBytes(value, what, 20)
    case 'input':
      return jsonBytes(value ?? json.data, what)
    case 'from':
      return jsonBytes(value, what, 20)
    case 'sourceHash':
      return jsonBytes(value, what, 32)
    case 'mint':
      return value === undefined ? 0 : integerOf(value, what)
    case 'isSystemTx':
      return flagOf(value)
    case 'v':
      return type === 0 ? integerOf(value, what) : parityOf(json)
    case 'accessList':
      return asArray(value ?? [], what).map(accessOf)
    case 'blobVersionedHashes':
      return asArray(value, what).map((hash) => jsonBytes(hash, what, 32))
    case 'authorizationList':
      return asArray(value, what).map(authorizationOf)
    default:
      return integerOf(value, what)
  }
}

function accessOf(json: unknown): RlpInput {
  const { address, storageKeys } = asObject(json, 'access list entry')
  const keys = asArray(storageKeys, 'access list storageKeys').map((key) => jsonBytes(key, 'storage key', 32))
  return [jsonBytes(address, 'access list address', 20), keys]
}

function authorizationOf(json: unknown): RlpInput {
  const entry = asObject(json, 'authorization')
  return [
    integerOf(entry.chainId, 'authorization chainId'),
    jsonBytes(entry.address, 'authorization address', 20),
    integerOf(entry.nonce, 'authorization nonce'),
    parityOf(entry),
    integerOf(entry.r, 'authorization r'),
    integerOf(entry.s, 'authorization s'),
  ]
}

/** Older nodes send the parity only as `v`. */
function parityOf({ yParity, v }: JsonObject): Uint8Array {
  return integerOf(yParity ?? v, 'transaction yParity')
}

/** Absent, a boolean (op-geth, op-reth), or a quantity (other clients). */
function flagOf(value: JsonValue | undefined): number {
  if (value === undefined || value === false || value === '0x0') return 0
  if (value === true || value === '0x1') return 1
  throw new DecodeError(`transaction isSystemTx: ${show(value)} is not a boolean`)
}

/** Minimal big-endian bytes, directly from the text, because each transaction has ten integers. */
function integerOf(value: unknown, what: string): Uint8Array {
  if (typeof value !== 'string' || !value.startsWith('0x') || value.length < 3 || value.length > 66)
    throw new DecodeError(`${what}: expected a hex quantity, got ${show(value)}`)
  let start = 2
  while (value[start] === '0') start++
  const digits = value.slice(start)
  return fromHex(digits.length % 2 === 0 ? digits : `0${digits}`, undefined, what)
}
