import { DecodeError } from '../../../lib/errors.ts'
import type { RlpCursor } from '../../../lib/rlpCursor.ts'

/** EIP-2718 type of blob transactions (EIP-4844). */
export const BLOB_TX_TYPE = 3
/** EIP-2718 type of deposit transactions (specs: deposits). */
export const DEPOSIT_TX_TYPE = 0x7e
/**
 * Lagoon's synthetic transaction at the end of a block. It has no field list: all bytes after the type are its input.
 */
export const POST_EXEC_TYPE_BYTE = 0x7d

const SIGNATURE = ['v', 'r', 's'] as const
const FEE_MARKET = [
  ...(['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'input'] as const),
  'accessList',
] as const

/** The RLP fields of each EIP-2718 type, with their JSON-RPC names. `v` of a typed transaction is its parity. */
export const TRANSACTION_FIELDS = {
  0: ['nonce', 'gasPrice', 'gas', 'to', 'value', 'input', ...SIGNATURE],
  1: ['chainId', 'nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'accessList', ...SIGNATURE],
  2: [...FEE_MARKET, ...SIGNATURE],
  [BLOB_TX_TYPE]: [...FEE_MARKET, 'maxFeePerBlobGas', 'blobVersionedHashes', ...SIGNATURE],
  4: [...FEE_MARKET, 'authorizationList', ...SIGNATURE],
  [DEPOSIT_TX_TYPE]: ['sourceHash', 'from', 'to', 'mint', 'value', 'gas', 'isSystemTx', 'input'],
} as const

export type ListType = keyof typeof TRANSACTION_FIELDS
export type FieldName = (typeof TRANSACTION_FIELDS)[ListType][number]

/** Throws DecodeError for a type without a field list. */
export function fieldsOf(type: number): readonly FieldName[] {
  if (type in TRANSACTION_FIELDS) return TRANSACTION_FIELDS[type as ListType]
  throw new DecodeError(`transaction type ${type} is not supported`, { at: 0 })
}

/** Throws DecodeError for an empty encoding. */
export function typeOfEncoding(raw: Uint8Array): number {
  const first = raw[0]
  if (first === undefined) throw new DecodeError('transaction: empty', { at: 0 })
  // Legacy transactions begin with an RLP list, and type 0 does not exist.
  if (first >= 0xc0) return 0
  if (first === 0) throw new DecodeError('transaction type byte 0 is not supported', { at: 0 })
  return first
}

/** Maximum bytes of integers that are shorter than 256 bits. */
const INTEGER_BYTES: Partial<Record<FieldName, number>> = { nonce: 8, gas: 8, isSystemTx: 1 }

/**
 * Validates the form of the field at `offset` and returns its end. For a byte string, the cursor then holds the bounds
 * of its content. Throws DecodeError.
 */
export function readField(
  cursor: RlpCursor,
  name: FieldName,
  offset: number,
  limit: number,
  maxIntegerBytes = 32,
): number {
  switch (name) {
    case 'to': {
      cursor.readString(offset, limit, name)
      const length = cursor.end - cursor.start
      if (length !== 0 && length !== 20) throw cursor.fault(name, `${length} bytes, expected 20 or none`, offset)
      return cursor.end
    }
    case 'input':
      cursor.readString(offset, limit, name)
      return cursor.end
    case 'from':
      cursor.readFixed(offset, limit, 20, name)
      return cursor.end
    case 'sourceHash':
      cursor.readFixed(offset, limit, 32, name)
      return cursor.end
    case 'accessList':
      return readList(cursor, name, offset, limit, readAccess)
    case 'blobVersionedHashes':
      return readList(cursor, name, offset, limit, readHash)
    case 'authorizationList':
      return readList(cursor, name, offset, limit, readAuthorization)
    default:
      cursor.readInteger(offset, limit, INTEGER_BYTES[name] ?? maxIntegerBytes, name)
      return cursor.end
  }
}

/** Reads the item at `offset` and returns its end. */
type ItemReader = (cursor: RlpCursor, offset: number, limit: number) => number

function readList(cursor: RlpCursor, what: string, offset: number, limit: number, readItem: ItemReader): number {
  cursor.readList(offset, limit, what)
  const { end } = cursor
  let position = cursor.start
  while (position < end) position = readItem(cursor, position, end)
  return end
}

/** [address, [storage key…]] (EIP-2930). */
function readAccess(cursor: RlpCursor, offset: number, limit: number): number {
  cursor.readList(offset, limit, 'accessList entry')
  const { end } = cursor
  cursor.readFixed(cursor.start, end, 20, 'accessList address')
  const position = readList(cursor, 'accessList storageKeys', cursor.end, end, readHash)
  if (position !== end) throw cursor.fault('accessList entry', 'more than two members', position)
  return end
}

function readHash(cursor: RlpCursor, offset: number, limit: number): number {
  cursor.readFixed(offset, limit, 32, 'hash')
  return cursor.end
}

/** [chain id, address, nonce, y parity, r, s] (EIP-7702). */
function readAuthorization(cursor: RlpCursor, offset: number, limit: number): number {
  cursor.readList(offset, limit, 'authorization')
  const { end } = cursor
  cursor.readInteger(cursor.start, end, 32, 'authorization chainId')
  cursor.readFixed(cursor.end, end, 20, 'authorization address')
  cursor.readInteger(cursor.end, end, 8, 'authorization nonce')
  cursor.readInteger(cursor.end, end, 1, 'authorization yParity')
  cursor.readInteger(cursor.end, end, 32, 'authorization r')
  cursor.readInteger(cursor.end, end, 32, 'authorization s')
  if (cursor.end !== end) throw cursor.fault('authorization', 'more than six members', cursor.end)
  return end
}
