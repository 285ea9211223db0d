import { bytesToBigInt, concatBytes, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { type Hex, toHex, toSafeNumber } from '../../../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpItem, rlpBytes, rlpList, rlpListHeader } from '../../../lib/rlp.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import { MAX_LOW_S, publicKeyToAddress, recoverPublicKey, SECP256K1_ORDER } from '../../../lib/secp256k1.ts'
import { type FieldName, fieldsOf, readField, typeOfEncoding } from './fields.ts'
import type { AccessListEntry, Signature } from './types.ts'

interface FullSignature extends Signature {
  yParity: 0 | 1
  /** Undefined without replay protection. */
  chainId: bigint | undefined
}

/** A transaction encoding with validated field bounds. The content of a field is decoded on access. */
export class TransactionReader {
  readonly raw: Uint8Array
  readonly type: number
  private readonly fields: readonly FieldName[]
  /** The offset of each field's encoding, and the end of the last. */
  private readonly bounds: number[]

  /** Throws DecodeError. */
  constructor(raw: Uint8Array) {
    this.raw = raw
    this.type = typeOfEncoding(raw)
    this.fields = fieldsOf(this.type)
    const cursor = new RlpCursor(raw, 'transaction')
    cursor.readList(this.type === 0 ? 0 : 1, raw.length)
    const { end } = cursor
    if (end !== raw.length) throw new DecodeError(`transaction: ${raw.length - end} bytes after the item`, { at: end })
    let position = cursor.start
    this.bounds = [position]
    for (const name of this.fields) {
      position = readField(cursor, name, position, end)
      this.bounds.push(position)
    }
    if (position !== end) throw new DecodeError('transaction: more fields than its type has', { at: position })
  }

  has(name: FieldName): boolean {
    return this.fields.includes(name)
  }

  /** The encoding of a field; empty if the type does not have the field. */
  encoding(name: FieldName): Uint8Array {
    const index = this.fields.indexOf(name)
    return this.raw.subarray(this.bounds[index] ?? 0, index < 0 ? 0 : this.bounds[index + 1])
  }

  /** Content of a byte string. */
  bytes(name: FieldName): Uint8Array {
    const encoding = this.encoding(name)
    const first = encoding[0] ?? 0
    if (first < 0x80) return encoding
    return encoding.subarray(first <= 0xb7 ? 1 : first - 0xb6)
  }

  bigint(name: FieldName): bigint {
    return bytesToBigInt(this.bytes(name))
  }

  hex(name: FieldName): Hex {
    return toHex(this.bytes(name))
  }

  get nonce(): number {
    return toSafeNumber(this.bigint('nonce'), 'transaction nonce')
  }

  get to(): Hex | null {
    const to = this.bytes('to')
    return to.length === 0 ? null : toHex(to)
  }

  get accessList(): AccessListEntry[] {
    if (!this.has('accessList')) return []
    return rlpList(decodeRlp(this.encoding('accessList')), 'accessList').map((entry) => {
      const [address, keys] = rlpList(entry, 'accessList entry')
      return { address: hexOf(address), storageKeys: rlpList(keys, 'storageKeys').map(hexOf) }
    })
  }

  get blobVersionedHashes(): Hex[] {
    return rlpList(decodeRlp(this.encoding('blobVersionedHashes')), 'blobVersionedHashes').map(hexOf)
  }

  /** Throws DecodeError for invalid signature values (EIP-2). */
  get signature(): FullSignature {
    const [v, r, s] = [this.bigint('v'), this.bigint('r'), this.bigint('s')]
    const isTyped = this.type !== 0
    const isProtected = !isTyped && v >= 35n
    // EIP-155: 35 + 2 * chain id + parity.
    const parity = isTyped ? v : isProtected ? (v - 35n) % 2n : v - 27n
    if ((parity !== 0n && parity !== 1n) || r === 0n || r >= SECP256K1_ORDER || s === 0n || s > MAX_LOW_S)
      throw new DecodeError('transaction: invalid signature values')
    const chainId = isTyped ? this.bigint('chainId') : isProtected ? (v - 35n) / 2n : undefined
    return { v, r, s, yParity: parity === 1n ? 1 : 0, chainId }
  }

  /** Recovers the signer. Throws DecodeError if no key matches the signature. */
  sender({ yParity, chainId }: Pick<FullSignature, 'yParity' | 'chainId'> = this.signature): Hex {
    const { raw, type } = this
    const signed = raw.subarray(this.bounds[0], this.bounds[this.fields.indexOf('v')])
    const prefix = raw.subarray(0, type === 0 ? 0 : 1)
    const suffix = type === 0 && chainId !== undefined ? protectionOf(chainId) : EMPTY_BYTES
    const hash = keccak256(concatBytes(prefix, rlpListHeader(signed.length + suffix.length), signed, suffix))
    return publicKeyToAddress(recoverPublicKey(hash, this.bytes('r'), this.bytes('s'), yParity))
  }
}

/** The signer of a transaction, or the `from` of a deposit. Throws DecodeError. */
export function senderOf(raw: Uint8Array): Hex {
  const reader = new TransactionReader(raw)
  return reader.has('from') ? reader.hex('from') : reader.sender()
}

/** The fields that EIP-155 appends before signing: the chain id and two zeros. */
function protectionOf(chainId: bigint): Uint8Array {
  return concatBytes(encodeRlp(chainId), Uint8Array.of(0x80, 0x80))
}

function hexOf(item: RlpItem | undefined): Hex {
  return toHex(rlpBytes(item, 'transaction'))
}
