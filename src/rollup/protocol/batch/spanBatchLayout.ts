import type { DecodeError } from '../../../lib/errors.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import type { SlicedTask } from '../../../lib/slicedTask.ts'
import { MAX_SPAN_BATCH_ELEMENTS } from '../constants.ts'
import { BitList } from './bitList.ts'
import type { SpanTransactions } from './spanBatchTransactions.ts'
import { SPAN_BATCH_TYPE, TX_TYPE, TYPED_ZERO } from './spanBatchTypes.ts'

/** Maximum RLP length of one transaction, as in op-node. */
const MAX_TX_DATA_BYTES = 10_000_000
/** Number of elements before the decoder yields to the event loop. */
const ELEMENTS_PER_STEP = 10_000

/** A span batch split into its columns. The contents of the columns are not validated yet. */
export interface SpanBatchLayout {
  type: 'span-layout'
  relTimestamp: bigint
  l1OriginNumber: bigint
  parentCheck: Hex
  l1OriginCheck: Hex
  blockCount: number
  originBits: BitList
  txCounts: Uint32Array
  transactions: SpanTransactions
  /** Length in bytes of each part, in order. */
  parts: Record<string, number>
  /** End of the batch. Bytes after it are ignored. */
  end: number
}

/**
 * Type byte and content (specs: delta/span-batches). Bytes after the batch are ignored, as in op-node. Throws
 * DecodeError.
 */
export function* readSpanBatchLayout(bytes: Uint8Array): SlicedTask<SpanBatchLayout> {
  const reader = new SpanReader(bytes)
  if (bytes[0] !== SPAN_BATCH_TYPE) throw reader.fault('type', `byte is ${bytes[0]}`, 0)
  const relTimestamp = reader.uvarint64('relative timestamp')
  const l1OriginNumber = reader.uvarint64('L1 origin number')
  const parentCheck = toHex(reader.take(20, 'parent check'))
  const l1OriginCheck = toHex(reader.take(20, 'L1 origin check'))
  reader.endPart('prefix')
  const blockCountAt = reader.offset
  const blockCount = reader.count('block count')
  if (blockCount === 0) throw reader.fault('block count', '0, a batch has one block at least', blockCountAt)
  const originBits = reader.bits(blockCount, 'origin bits')
  reader.endPart('origins')
  // Each count takes at least one byte. This check prevents an allocation for blocks that cannot exist.
  reader.expect(blockCount, 'transaction counts')
  const txCounts = new Uint32Array(blockCount)
  let total = 0
  for (let i = 0; i < blockCount; i++) {
    const count = reader.count('transaction count')
    txCounts[i] = count
    total += count
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  if (total > MAX_SPAN_BATCH_ELEMENTS) throw reader.fault('transaction counts', `${total} transactions`, reader.offset)
  reader.endPart('counts')
  const transactions = yield* readTransactions(reader, total)
  return {
    type: 'span-layout',
    relTimestamp,
    l1OriginNumber,
    parentCheck,
    l1OriginCheck,
    blockCount,
    originBits,
    txCounts,
    transactions,
    parts: reader.parts,
    end: reader.offset,
  }
}

function* readTransactions(reader: SpanReader, count: number): SlicedTask<SpanTransactions> {
  const creationBits = reader.bits(count, 'contract creation bits')
  const parityBits = reader.bits(count, 'y parity bits')
  reader.endPart('bits')
  const signatures = reader.take(count * 64, 'signatures')
  reader.endPart('signatures')
  const recipients = reader.take((count - creationBits.setBits()) * 20, 'recipients')
  reader.endPart('recipients')
  yield
  const types = new Uint8Array(count)
  const dataStarts = new Uint32Array(count)
  const dataEnds = new Uint32Array(count)
  yield
  let legacyCount = 0
  for (let i = 0; i < count; i++) {
    const type = reader.txData(i)
    types[i] = type
    dataStarts[i] = reader.itemStart
    dataEnds[i] = reader.offset
    if (type === TX_TYPE.legacy || type === TYPED_ZERO) legacyCount++
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  reader.endPart('data')
  const nonceStart = reader.offset
  yield* reader.skipUvarintsInSlices(count, 'nonce')
  reader.endPart('nonces')
  const gasStart = reader.offset
  yield* reader.skipUvarintsInSlices(count, 'gas limit')
  reader.endPart('gasLimits')
  const protectedBits = reader.bits(legacyCount, 'protected bits')
  reader.endPart('protected')
  const { bytes } = reader
  return {
    bytes,
    count,
    creationBits,
    parityBits,
    signatures,
    recipients,
    types,
    dataStarts,
    dataEnds,
    nonceStart,
    gasStart,
    protectedBits,
  }
}

class SpanReader {
  readonly bytes: Uint8Array
  readonly parts: Record<string, number> = {}
  /** Starts after the type byte. */
  offset = 1
  /** Offset of the RLP list of the last transaction. */
  itemStart = 0
  private partStart = 1
  private readonly cursor: RlpCursor

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.cursor = new RlpCursor(bytes, 'span batch')
  }

  fault(what: string, rule: string, at = this.offset): DecodeError {
    return this.cursor.fault(what, rule, at)
  }

  endPart(name: string): void {
    this.parts[name] = this.offset - this.partStart
    this.partStart = this.offset
  }

  /** Throws if fewer than `length` bytes are left. */
  expect(length: number, what: string): void {
    const left = this.bytes.length - this.offset
    if (length > left) throw this.fault(what, `truncated, ${length} bytes are needed and ${left} left`)
  }

  take(length: number, what: string): Uint8Array {
    this.expect(length, what)
    const end = this.offset + length
    const part = this.bytes.subarray(this.offset, end)
    this.offset = end
    return part
  }

  bits(count: number, what: string): BitList {
    const { offset } = this
    const part = this.take((count + 7) >>> 3, what)
    const spare = count & 7
    if (spare !== 0 && (part[0] ?? 0) >>> spare !== 0) throw this.fault(what, `more than ${count} bits`, offset)
    return new BitList(part)
  }

  count(what: string): number {
    const { offset } = this
    const value = this.uvarint(what)
    if (value > MAX_SPAN_BATCH_ELEMENTS)
      throw this.fault(what, `${value} elements, at most ${MAX_SPAN_BATCH_ELEMENTS} are allowed`, offset)
    return value
  }

  /** Little-endian base-128 integer. Not exact above 2^53, but callers reject such values. */
  uvarint(what: string): number {
    const first = this.bytes[this.offset] ?? 0xff
    if (first >= 0x80) return Number(this.uvarint64(what))
    this.offset++
    return first
  }

  /** Like `uvarint`, but exact. */
  uvarint64(what: string): bigint {
    const start = this.offset
    this.skipUvarint(what)
    let value = 0n
    for (let i = this.offset - 1; i >= start; i--) value = (value << 7n) | BigInt((this.bytes[i] ?? 0) & 0x7f)
    return value
  }

  /** Skips an integer of at most 64 bits. */
  private skipUvarint(what: string): void {
    const { bytes, offset } = this
    let end = offset
    while ((bytes[end] ?? 0) >= 0x80 && end < offset + 10) end++
    if (end >= bytes.length) throw this.fault(what, 'truncated')
    if (end - offset > 9 || (end - offset === 9 && (bytes[end] ?? 0) > 1))
      throw this.fault(what, 'integer has more than 64 bits')
    this.offset = end + 1
  }

  *skipUvarintsInSlices(count: number, what: string): SlicedTask<void> {
    for (let i = 0; i < count; i++) {
      this.cursor.transaction = i
      this.skipUvarint(what)
      if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
    }
    this.cursor.transaction = undefined
  }

  /** Skips the data of a transaction. Returns its type: 0 for a bare list, TYPED_ZERO for a type byte of 0. */
  txData(index: number): number {
    const { bytes, cursor } = this
    cursor.transaction = index
    const first = bytes[this.offset]
    if (first === undefined) throw this.fault('data', 'truncated')
    const isTyped = first <= 0x7f
    this.itemStart = isTyped ? this.offset + 1 : this.offset
    cursor.readList(this.itemStart, bytes.length, 'data')
    if (cursor.end - this.itemStart > MAX_TX_DATA_BYTES) throw this.fault('data', 'too long')
    this.offset = cursor.end
    cursor.transaction = undefined
    if (!isTyped) return TX_TYPE.legacy
    return first === 0 ? TYPED_ZERO : first
  }
}
