import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { fromHex, quantityToBigInt } from '../../lib/hex.ts'
import { asObject, type JsonObject } from '../../lib/jsonReader.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { POST_EXEC_TYPE_BYTE } from '../../rollup/protocol/index.ts'

/**
 * The EIP-2718 encoding of a transaction as JSON-RPC returns it in a full block. The hash of the result is compared
 * with the transaction's own, so a field that was left out or misread can never reach a batch. Throws DecodeError, also
 * for types that have no place in a batch (deposits, blob transactions).
 */
export function transactionFromJson(json: unknown): Uint8Array {
  const tx = asObject(json, 'transaction')
  const encoded = encode(tx)
  const hash = keccak256Hex(encoded)
  if (typeof tx.hash !== 'string' || tx.hash.toLowerCase() !== hash)
    throw new DecodeError(`transaction ${String(tx.hash)}: its JSON encodes to another hash, ${hash}`)
  return encoded
}

function encode(tx: JsonObject): Uint8Array {
  const type = transactionType(tx)
  // Its JSON has no other fields (specs: lagoon/post-exec, "Generic Transaction Interface Representation").
  if (type === POST_EXEC_TYPE_BYTE) return concatBytes(Uint8Array.of(type), bytes(tx, 'input'))
  const gas = integer(tx, 'gas')
  const to = recipient(tx)
  const value = integer(tx, 'value')
  const data = bytes(tx, 'input')
  const nonce = integer(tx, 'nonce')
  const signature = [integer(tx, 'r'), integer(tx, 's')]
  switch (type) {
    case 0:
      return encodeRlp([nonce, integer(tx, 'gasPrice'), gas, to, value, data, integer(tx, 'v'), ...signature])
    case 1:
      return typed(type, [
        integer(tx, 'chainId'),
        nonce,
        integer(tx, 'gasPrice'),
        gas,
        to,
        value,
        data,
        accessList(tx),
        parity(tx),
        ...signature,
      ])
    case 2:
    case 4: {
      const fields = [
        integer(tx, 'chainId'),
        nonce,
        integer(tx, 'maxPriorityFeePerGas'),
        integer(tx, 'maxFeePerGas'),
        gas,
        to,
        value,
        data,
        accessList(tx),
      ]
      return typed(type, [...fields, ...(type === 4 ? [authorizationList(tx)] : []), parity(tx), ...signature])
    }
    default:
      throw new DecodeError(`transaction ${String(tx.hash)}: type ${type} cannot be in a batch`)
  }
}

/** EIP-2718 type; 0 for legacy transactions. */
export function transactionType(tx: JsonObject): number {
  return tx.type === undefined || tx.type === null ? 0 : Number(quantityToBigInt(tx.type, 'transaction type'))
}

function typed(type: number, fields: RlpInput[]): Uint8Array {
  return concatBytes(Uint8Array.of(type), encodeRlp(fields))
}

/** Minimal big-endian bytes, straight from the text: there are ten integers in each transaction. */
function integer(tx: JsonObject, name: string): Uint8Array {
  const text = tx[name]
  if (typeof text !== 'string') throw new DecodeError(`transaction ${name}: expected a hex quantity`)
  const digits = text.replace(/^0[xX]0*/, '')
  return fromHex(digits.length % 2 === 0 ? digits : `0${digits}`, undefined, `transaction ${name}`)
}

function bytes(tx: JsonObject, name: string): Uint8Array {
  const text = tx[name]
  if (typeof text !== 'string') throw new DecodeError(`transaction ${name}: expected hex`)
  return fromHex(text, undefined, `transaction ${name}`)
}

function recipient(tx: JsonObject): Uint8Array {
  if (tx.to === null || tx.to === undefined) return new Uint8Array(0)
  if (typeof tx.to !== 'string') throw new DecodeError('transaction to: expected an address')
  return fromHex(tx.to, 20, 'transaction to')
}

/** Older nodes give `v` only; it is the parity in typed transactions. */
function parity(tx: JsonObject): Uint8Array {
  return integer(tx, tx.yParity === undefined ? 'v' : 'yParity')
}

function list(tx: JsonObject, name: string): unknown[] {
  const value = tx[name] ?? []
  if (!Array.isArray(value)) throw new DecodeError(`transaction ${name}: expected a list`)
  return value
}

/** EIP-2930. */
function accessList(tx: JsonObject): RlpInput {
  return list(tx, 'accessList').map((item) => {
    const entry = asObject(item, 'access list entry')
    const keys = list(entry, 'storageKeys').map((key) => fromHex(String(key), 32, 'access list key'))
    return [fromHex(String(entry.address), 20, 'access list address'), keys]
  })
}

/** EIP-7702. */
function authorizationList(tx: JsonObject): RlpInput {
  return list(tx, 'authorizationList').map((item) => {
    const entry = asObject(item, 'authorization')
    const address = fromHex(String(entry.address), 20, 'authorization address')
    return [
      integer(entry, 'chainId'),
      address,
      integer(entry, 'nonce'),
      parity(entry),
      integer(entry, 'r'),
      integer(entry, 's'),
    ]
  })
}
