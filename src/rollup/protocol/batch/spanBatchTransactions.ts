import { bigIntToMinimalBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import type { SlicedTask } from '../../../lib/slicedTask.ts'
import { ByteWriter } from '../byteWriter.ts'
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

/** The concatenated transactions, and the end offset of each. */
export interface RebuiltTransactions {
  bytes: Uint8Array
  ends: Uint32Array
}

/** Number of transactions before the builder yields to the event loop. */
const TRANSACTIONS_PER_STEP = 500
/** Maximum size of a transaction without data, recipient and signature: type, headers, chain id, nonce, gas and v. */
const MAX_OVERHEAD_BYTES = 64

/**
 * Rebuilds the exact EIP-2718 encodings that were signed. Throws DecodeError for a type that batches cannot carry, and
 * for malformed fields.
 */
export function rebuildTransactions(columns: SpanTransactions, chainId: bigint): SlicedTask<RebuiltTransactions> {
  return new TransactionBuilder(columns, chainId).build()
}

class TransactionBuilder {
  private readonly columns: SpanTransactions
  private readonly cursor: RlpCursor
  private readonly chainId: Uint8Array
  /** v of protected legacy transactions, indexed by y parity (EIP-155). */
  private readonly protectedV: readonly [Uint8Array, Uint8Array]
  private readonly out: ByteWriter
  private nonceOffset: number
  private gasOffset: number
  private recipientOffset = 0
  private legacyIndex = 0
  private readonly chainIdLength: number
  /** The results of `readUvarint`: up to 64 bits, big-endian. */
  private readonly nonce = new Uint8Array(8)
  private readonly gas = new Uint8Array(8)
  private integerStart = 8

  constructor(columns: SpanTransactions, chainId: bigint) {
    this.columns = columns
    this.cursor = new RlpCursor(columns.bytes, 'span batch')
    this.chainId = bigIntToMinimalBytes(chainId)
    this.chainIdLength = stringLength(this.chainId, 0, this.chainId.length)
    this.protectedV = [bigIntToMinimalBytes(chainId * 2n + 35n), bigIntToMinimalBytes(chainId * 2n + 36n)]
    this.nonceOffset = columns.nonceStart
    this.gasOffset = columns.gasStart
    const dataBytes = columns.count === 0 ? 0 : columns.nonceStart - (columns.dataStarts[0] ?? 0)
    // Large enough for all transactions, because growing would copy a hundred megabytes.
    this.out = new ByteWriter(
      columns.signatures.length + columns.recipients.length + dataBytes + columns.count * MAX_OVERHEAD_BYTES,
    )
  }

  *build(): SlicedTask<RebuiltTransactions> {
    const { count } = this.columns
    const ends = new Uint32Array(count)
    yield
    for (let i = 0; i < count; i++) {
      this.writeTransaction(i)
      ends[i] = this.out.length
      if (i % TRANSACTIONS_PER_STEP === TRANSACTIONS_PER_STEP - 1) yield
    }
    return { bytes: this.out.view(), ends }
  }

  private writeTransaction(index: number): void {
    const { bytes, creationBits, dataStarts, dataEnds, parityBits, recipients, signatures, types } = this.columns
    const { out } = this
    const type = types[index] ?? 0
    const dataStart = dataStarts[index] ?? 0
    if (type === TX_TYPE.postExec) {
      this.writePostExec(index)
      return
    }
    this.cursor.transaction = index
    if (!isSignedTxType(type)) throw this.cursor.fault('data', `batches do not carry type ${type}`, dataStart - 1)
    const fields = this.readFields(type, dataStart, dataEnds[index] ?? 0)
    const isCreation = creationBits.has(index)
    if (isCreation && type === TX_TYPE.setCode)
      throw this.cursor.fault('data', 'type 4 needs a recipient', dataStart - 1)
    const parity = parityBits.has(index)
    const v = this.legacyV(type, parity)

    const { nonce, gas } = this
    this.nonceOffset = this.readUvarint(this.nonceOffset, nonce)
    const nonceStart = this.integerStart
    this.gasOffset = this.readUvarint(this.gasOffset, gas)
    const gasStart = this.integerStart
    const rEnd = index * 64 + 32
    const rStart = withoutLeadingZeros(signatures, index * 64, rEnd)
    const sStart = withoutLeadingZeros(signatures, rEnd, rEnd + 32)

    const isLegacy = type === TX_TYPE.legacy
    const length =
      (isLegacy ? 0 : this.chainIdLength) +
      stringLength(nonce, nonceStart, 8) +
      (fields.pricesEnd - fields.pricesStart) +
      stringLength(gas, gasStart, 8) +
      (isCreation ? 1 : 21) +
      (fields.valueEnd - fields.valueStart) +
      (fields.dataEnd - fields.dataStart) +
      (isLegacy ? stringLength(v, 0, v.length) : 1) +
      stringLength(signatures, rStart, rEnd) +
      stringLength(signatures, sStart, rEnd + 32)

    if (!isLegacy) out.byte(type)
    out.rlpListHeader(length)
    if (!isLegacy) out.rlpString(this.chainId)
    out.rlpStringOf(nonce, nonceStart, 8)
    out.copy(bytes, fields.pricesStart, fields.pricesEnd)
    out.rlpStringOf(gas, gasStart, 8)
    if (isCreation) out.byte(0x80)
    else {
      out.byte(0x94)
      out.copy(recipients, this.recipientOffset, this.recipientOffset + 20)
      this.recipientOffset += 20
    }
    out.copy(bytes, fields.valueStart, fields.valueEnd)
    out.copy(bytes, fields.dataStart, fields.dataEnd)
    if (isLegacy) out.rlpString(v)
    else out.byte(parity ? 1 : 0x80)
    out.rlpStringOf(signatures, rStart, rEnd)
    out.rlpStringOf(signatures, sStart, rEnd + 32)
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
    this.nonceOffset = this.readUvarint(this.nonceOffset, this.nonce)
    check(this.integerStart === this.nonce.length, 'a nonce')
    this.gasOffset = this.readUvarint(this.gasOffset, this.gas)
    check(this.integerStart === this.gas.length, 'a gas limit')
    this.out.byte(TX_TYPE.postExec)
    this.out.copy(bytes, dataStarts[index] ?? 0, dataEnds[index] ?? 0)
  }

  /** Splits `rlp[value, prices…, data, lists…]` and validates each field like a transaction decoder. */
  private readFields(type: SignedTxType, listStart: number, listEnd: number): TxFields {
    const { cursor } = this
    const maxIntegerBytes = type === TX_TYPE.setCode ? UINT256_BYTES : Number.POSITIVE_INFINITY
    cursor.readList(listStart, listEnd, 'data')
    const { prices, lists } = TX_SHAPE[type]
    const valueStart = cursor.start
    const valueEnd = readField(cursor, 'value', valueStart, listEnd, maxIntegerBytes)
    let pricesEnd = valueEnd
    for (const name of prices) pricesEnd = readField(cursor, name, pricesEnd, listEnd, maxIntegerBytes)
    let position = readField(cursor, 'input', pricesEnd, listEnd)
    for (const name of lists) position = readField(cursor, name, position, listEnd)
    if (position !== listEnd) throw cursor.fault('data', 'more fields than the type has', position)
    return { valueStart, valueEnd, pricesStart: valueEnd, pricesEnd, dataStart: pricesEnd, dataEnd: listEnd }
  }

  private legacyV(type: SignedTxType, parity: boolean): Uint8Array {
    if (type !== TX_TYPE.legacy) return NO_BYTES
    const isProtected = this.columns.protectedBits.has(this.legacyIndex++)
    if (isProtected) return this.protectedV[parity ? 1 : 0]
    return parity ? V28 : V27
  }

  /**
   * Writes the integer at `offset` as minimal big-endian bytes to the end of `integer`. Returns the offset after it.
   */
  private readUvarint(offset: number, integer: Uint8Array): number {
    const { bytes } = this.columns
    let end = offset
    while ((bytes[end] ?? 0) >= 0x80) end++
    if (end - offset < 7) {
      let value = 0
      for (let i = end; i >= offset; i--) value = value * 128 + ((bytes[i] ?? 0) & 0x7f)
      let start = 8
      for (; value > 0; value = Math.floor(value / 256)) integer[--start] = value % 256
      this.integerStart = start
      return end + 1
    }
    let value = 0n
    for (let i = end; i >= offset; i--) value = (value << 7n) | BigInt((bytes[i] ?? 0) & 0x7f)
    let start = 8
    for (; value > 0n; value >>= 8n) integer[--start] = Number(value & 0xffn)
    this.integerStart = start
    return end + 1
  }
}

interface TxFields {
  valueStart: number
  valueEnd: number
  pricesStart: number
  pricesEnd: number
  /** Input data and the lists after it. */
  dataStart: number
  dataEnd: number
}

const NO_BYTES = new Uint8Array(0)
const V27 = Uint8Array.of(27)
const V28 = Uint8Array.of(28)

/** Offset of the first non-zero byte in start..end. */
function withoutLeadingZeros(bytes: Uint8Array, start: number, end: number): number {
  let first = start
  while (first < end && bytes[first] === 0) first++
  return first
}

/** Length of the RLP string of an integer of at most 55 bytes. */
function stringLength(bytes: Uint8Array, start: number, end: number): number {
  return end - start === 1 && (bytes[start] ?? 0) < 0x80 ? 1 : 1 + end - start
}
