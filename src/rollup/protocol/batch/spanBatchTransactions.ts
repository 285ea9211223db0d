import { bigIntToMinimalBytes, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import type { SlicedTask } from '../../../lib/slicedTask.ts'
import { ByteWriter } from '../byteWriter.ts'
import { PackedTransactions } from '../payload/transactionList.ts'
import { readField } from '../transaction/fields.ts'
import type { BitList } from './bitList.ts'
import { isSignedTxType, type SignedTxType, TX_SHAPE, TX_TYPE } from './spanBatchTypes.ts'

/** The columns from which the transactions of a span batch are rebuilt. */
export interface SpanTransactions {
  /** The whole batch. `dataStarts` and `dataEnds` are offsets into it. */
  bytes: Uint8Array
  count: number
  creationBits: BitList
  parityBits: BitList
  /** r ‖ s of each transaction. */
  signatures: Uint8Array
  /** 20 bytes for each transaction that does not create a contract. */
  recipients: Uint8Array
  /** 0 for a bare list, else the type byte; TYPED_ZERO for a type byte of 0. */
  types: Uint8Array
  /** Offset of each transaction's RLP list, after the type byte if it has one. */
  dataStarts: Uint32Array
  dataEnds: Uint32Array
  /** Offsets of the first uvarint. */
  nonceStart: number
  gasStart: number
  protectedBits: BitList
}

/** Maximum length of an integer in an EIP-7702 transaction. Older types have no limit. */
const UINT256_BYTES = 32

/** Number of transactions before the builder yields to the event loop. */
const TRANSACTIONS_PER_STEP = 500
/** Maximum size of a transaction without data, recipient and signature: type, headers, chain id, nonce, gas and v. */
const MAX_OVERHEAD_BYTES = 64

/**
 * Rebuilds the exact EIP-2718 encodings that were signed. Throws DecodeError for a type that batches cannot carry, and
 * for malformed fields.
 */
export function rebuildTransactions(columns: SpanTransactions, chainId: bigint): SlicedTask<PackedTransactions> {
  return new TransactionBuilder(columns, chainId).build()
}

class TransactionBuilder {
  private readonly columns: SpanTransactions
  private readonly cursor: RlpCursor
  private readonly chainId: Uint8Array
  /** v of protected legacy transactions, indexed by y parity (EIP-155). */
  private readonly protectedV: readonly [Uint8Array, Uint8Array]
  private readonly out: ByteWriter
  /** The fields of one transaction. */
  private readonly fields = new ByteWriter()
  private readonly nonces: UvarintColumn
  private readonly gasLimits: UvarintColumn
  private recipientOffset = 0
  private legacyIndex = 0

  constructor(columns: SpanTransactions, chainId: bigint) {
    this.columns = columns
    this.cursor = new RlpCursor(columns.bytes, 'span batch')
    this.chainId = bigIntToMinimalBytes(chainId)
    this.protectedV = [bigIntToMinimalBytes(chainId * 2n + 35n), bigIntToMinimalBytes(chainId * 2n + 36n)]
    this.nonces = new UvarintColumn(columns.bytes, columns.nonceStart)
    this.gasLimits = new UvarintColumn(columns.bytes, columns.gasStart)
    const dataBytes = columns.count === 0 ? 0 : columns.nonceStart - (columns.dataStarts[0] ?? 0)
    // Large enough for all transactions, because growing would copy a hundred megabytes.
    this.out = new ByteWriter(
      columns.signatures.length + columns.recipients.length + dataBytes + columns.count * MAX_OVERHEAD_BYTES,
    )
  }

  *build(): SlicedTask<PackedTransactions> {
    const { count } = this.columns
    const bounds = new Uint32Array(count * 2)
    yield
    for (let i = 0; i < count; i++) {
      bounds[i * 2] = this.out.length
      this.writeTransaction(i)
      bounds[i * 2 + 1] = this.out.length
      if (i % TRANSACTIONS_PER_STEP === TRANSACTIONS_PER_STEP - 1) yield
    }
    return new PackedTransactions(this.out.view(), bounds)
  }

  private writeTransaction(index: number): void {
    const { bytes, creationBits, dataStarts, dataEnds, parityBits, recipients, signatures, types } = this.columns
    const { fields, gasLimits, nonces, out } = this
    const type = types[index] ?? 0
    const dataStart = dataStarts[index] ?? 0
    const dataEnd = dataEnds[index] ?? 0
    if (type === TX_TYPE.postExec) {
      this.writePostExec(index)
      return
    }
    this.cursor.transaction = index
    if (!isSignedTxType(type)) throw this.cursor.fault('data', `batches do not carry type ${type}`, dataStart - 1)
    const { valueStart, pricesStart, inputStart } = this.readFields(type, dataStart, dataEnd)
    const isCreation = creationBits.has(index)
    if (isCreation && type === TX_TYPE.setCode)
      throw this.cursor.fault('data', 'type 4 needs a recipient', dataStart - 1)
    const isLegacy = type === TX_TYPE.legacy
    const recipientEnd = this.recipientOffset + (isCreation ? 0 : 20)
    const rEnd = index * 64 + 32

    fields.clear()
    if (!isLegacy) fields.rlpString(this.chainId)
    fields.rlpString(nonces.digits, nonces.next())
    fields.copy(bytes, pricesStart, inputStart)
    fields.rlpString(gasLimits.digits, gasLimits.next())
    fields.rlpString(recipients, this.recipientOffset, recipientEnd)
    fields.copy(bytes, valueStart, pricesStart)
    fields.copy(bytes, inputStart, dataEnd)
    fields.rlpString(this.v(isLegacy, parityBits.has(index)))
    fields.rlpString(signatures, withoutLeadingZeros(signatures, index * 64, rEnd), rEnd)
    fields.rlpString(signatures, withoutLeadingZeros(signatures, rEnd, rEnd + 32), rEnd + 32)
    this.recipientOffset = recipientEnd
    if (!isLegacy) out.byte(type)
    out.rlpListHeader(fields.length)
    out.bytes(fields.view())
  }

  /**
   * The data column holds the whole transaction (specs: lagoon/derivation, "Span Batch Updates"). The other columns
   * must be empty for it, so that each block has a unique encoding.
   * The specs do not say how far a violation reaches. op-node drops only this batch, kona also the rest of the channel.
   * This follows op-node.
   */
  private writePostExec(index: number): void {
    const { bytes, creationBits, dataStarts, dataEnds, parityBits, signatures } = this.columns
    const check = (isEmpty: boolean, slot: string) => {
      if (isEmpty) return
      throw new DecodeError(`span batch: transaction ${index} of type 0x7d has ${slot}`, {
        at: (dataStarts[index] ?? 0) - 1,
      })
    }
    check(creationBits.has(index), 'a recipient')
    check(!parityBits.has(index), 'a y parity')
    check(withoutLeadingZeros(signatures, index * 64, index * 64 + 64) === index * 64 + 64, 'a signature')
    check(this.nonces.next() === this.nonces.digits.length, 'a nonce')
    check(this.gasLimits.next() === this.gasLimits.digits.length, 'a gas limit')
    this.out.byte(TX_TYPE.postExec)
    this.out.copy(bytes, dataStarts[index] ?? 0, dataEnds[index] ?? 0)
  }

  /** Splits `rlp[value, prices…, input, lists…]` and validates each field like a transaction decoder. */
  private readFields(type: SignedTxType, listStart: number, listEnd: number) {
    const { cursor } = this
    const maxIntegerBytes = type === TX_TYPE.setCode ? UINT256_BYTES : Number.POSITIVE_INFINITY
    cursor.readList(listStart, listEnd, 'data')
    const { prices, lists } = TX_SHAPE[type]
    const valueStart = cursor.start
    const pricesStart = readField(cursor, 'value', valueStart, listEnd, maxIntegerBytes)
    let inputStart = pricesStart
    for (const name of prices) inputStart = readField(cursor, name, inputStart, listEnd, maxIntegerBytes)
    let position = readField(cursor, 'input', inputStart, listEnd)
    for (const name of lists) position = readField(cursor, name, position, listEnd)
    if (position !== listEnd) throw cursor.fault('data', 'more fields than the type has', position)
    return { valueStart, pricesStart, inputStart }
  }

  private v(isLegacy: boolean, parity: boolean): Uint8Array {
    if (!isLegacy) return parity ? ONE : EMPTY_BYTES
    const isProtected = this.columns.protectedBits.has(this.legacyIndex++)
    if (isProtected) return this.protectedV[parity ? 1 : 0]
    return parity ? V28 : V27
  }
}

const ONE = Uint8Array.of(1)
const V27 = Uint8Array.of(27)
const V28 = Uint8Array.of(28)

/** The integers of a column of uvarints whose form is checked. */
class UvarintColumn {
  /** The last integer, big-endian. */
  readonly digits = new Uint8Array(9)
  private readonly bytes: Uint8Array
  private offset: number

  constructor(bytes: Uint8Array, offset: number) {
    this.bytes = bytes
    this.offset = offset
  }

  /** Reads the next integer to the end of `digits`. Returns the place of its first digit that is not zero. */
  next(): number {
    const { bytes, digits } = this
    let first = digits.length
    let bits = 0
    let count = 0
    for (let byte = 0x80; byte >= 0x80; ) {
      byte = bytes[this.offset++] ?? 0
      bits |= (byte & 0x7f) << count
      count += 7
      if (count < 8) continue
      digits[--first] = bits & 0xff
      bits >>>= 8
      count -= 8
    }
    digits[--first] = bits
    return withoutLeadingZeros(digits, first, digits.length)
  }
}

/** Offset of the first non-zero byte in start..end. */
function withoutLeadingZeros(bytes: Uint8Array, start: number, end: number): number {
  let first = start
  while (first < end && bytes[first] === 0) first++
  return first
}
