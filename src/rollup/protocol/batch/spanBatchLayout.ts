import { DecodeError } from '../../../lib/errors.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import type { Steps } from '../../../lib/steps.ts'
import { MAX_SPAN_BATCH_ELEMENTS } from '../constants.ts'
import { BitList } from './bitList.ts'
import type { SpanTransactions } from './spanBatchTransactions.ts'
import { SPAN_BATCH_TYPE, TX_TYPE, TYPED_ZERO } from './spanBatchTypes.ts'

/** More RLP than this of one transaction is refused, as the reference node does. */
const MAX_TX_DATA_BYTES = 10_000_000
/** Elements between two turns of the event loop. */
const ELEMENTS_PER_STEP = 10_000

/** A span batch split into its columns; what they say is not looked at yet. */
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
}

/** Type byte and content (specs: delta/span-batches); bytes after the batch are ignored, as the reference node does. Throws DecodeError. */
export function* readSpanBatchLayout(bytes: Uint8Array): Steps<SpanBatchLayout> {
  if (bytes[0] !== SPAN_BATCH_TYPE) throw fault(`type byte is ${bytes[0]}`)
  const reader = new SpanReader(bytes, 1)
  const relTimestamp = reader.uvarint64()
  const l1OriginNumber = reader.uvarint64()
  const parentCheck = toHex(reader.take(20))
  const l1OriginCheck = toHex(reader.take(20))
  const blockCount = reader.count()
  if (blockCount === 0) throw fault('no blocks')
  const originBits = reader.bits(blockCount)
  // Each count takes a byte at least: nothing is reserved for blocks that cannot be there.
  reader.expect(blockCount)
  const txCounts = new Uint32Array(blockCount)
  let total = 0
  for (let i = 0; i < blockCount; i++) {
    const count = reader.count()
    txCounts[i] = count
    total += count
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  if (total > MAX_SPAN_BATCH_ELEMENTS) throw fault(`${total} transactions`)
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
  }
}

function* readTransactions(reader: SpanReader, count: number): Steps<SpanTransactions> {
  const creationBits = reader.bits(count)
  const parityBits = reader.bits(count)
  const signatures = reader.take(count * 64)
  const recipients = reader.take((count - creationBits.setBits()) * 20)
  yield
  const types = new Uint8Array(count)
  const dataStarts = new Uint32Array(count)
  const dataEnds = new Uint32Array(count)
  yield
  let legacyCount = 0
  for (let i = 0; i < count; i++) {
    const type = reader.txData()
    types[i] = type
    dataStarts[i] = reader.itemStart
    dataEnds[i] = reader.offset
    if (type === TX_TYPE.legacy || type === TYPED_ZERO) legacyCount++
    if (i % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield
  }
  const nonceStart = reader.offset
  yield* reader.skipUvarintsInSteps(count)
  const gasStart = reader.offset
  yield* reader.skipUvarintsInSteps(count)
  const protectedBits = reader.bits(legacyCount)
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
  offset: number
  /** Where the RLP list of the transaction read last begins. */
  itemStart = 0
  private readonly cursor: RlpCursor

  constructor(bytes: Uint8Array, offset: number) {
    this.bytes = bytes
    this.offset = offset
    this.cursor = new RlpCursor(bytes)
  }

  /** Throws unless so many bytes are left. */
  expect(length: number): void {
    if (this.offset + length > this.bytes.length) throw fault('truncated')
  }

  take(length: number): Uint8Array {
    this.expect(length)
    const end = this.offset + length
    const part = this.bytes.subarray(this.offset, end)
    this.offset = end
    return part
  }

  bits(count: number): BitList {
    const part = this.take((count + 7) >>> 3)
    try {
      return new BitList(part, count)
    } catch (cause) {
      throw fault('bit list is too long', cause)
    }
  }

  /** A number of blocks or transactions. */
  count(): number {
    const value = this.uvarint()
    if (value > MAX_SPAN_BATCH_ELEMENTS) throw fault(`${value} elements`)
    return value
  }

  /** Little-endian base-128 integer. Beyond 2^53 it is rounded: callers refuse such values. */
  uvarint(): number {
    const first = this.bytes[this.offset] ?? 0xff
    if (first < 0x80) {
      this.offset++
      return first
    }
    const start = this.offset
    this.skipUvarints(1)
    let value = 0
    for (let i = this.offset - 1; i >= start; i--) value = value * 128 + ((this.bytes[i] ?? 0) & 0x7f)
    return value
  }

  /** As uvarint, exact. */
  uvarint64(): bigint {
    const start = this.offset
    this.skipUvarints(1)
    let value = 0n
    for (let i = this.offset - 1; i >= start; i--) value = (value << 7n) | BigInt((this.bytes[i] ?? 0) & 0x7f)
    return value
  }

  /** Steps over integers of at most 64 bits. */
  skipUvarints(count: number): void {
    const { bytes } = this
    let { offset } = this
    for (let i = 0; i < count; i++) {
      const limit = offset + 10
      while ((bytes[offset] ?? 0) >= 0x80) {
        offset++
        if (offset === limit) throw fault('integer has more than 64 bits')
      }
      if (offset >= bytes.length) throw fault('truncated')
      if (offset === limit - 1 && (bytes[offset] ?? 0) > 1) throw fault('integer has more than 64 bits')
      offset++
    }
    this.offset = offset
  }

  *skipUvarintsInSteps(count: number): Steps<void> {
    for (let left = count; left > 0; left -= ELEMENTS_PER_STEP) {
      this.skipUvarints(Math.min(left, ELEMENTS_PER_STEP))
      yield
    }
  }

  /** Steps over the data of a transaction and returns its type: 0 for a bare list, TYPED_ZERO for a type byte of 0. */
  txData(): number {
    const first = this.bytes[this.offset]
    if (first === undefined) throw fault('truncated')
    const isTyped = first <= 0x7f
    this.itemStart = isTyped ? this.offset + 1 : this.offset
    try {
      this.cursor.readList(this.itemStart, this.bytes.length)
    } catch (cause) {
      throw fault('transaction data', cause)
    }
    if (this.cursor.end - this.itemStart > MAX_TX_DATA_BYTES) throw fault('transaction data are too long')
    this.offset = this.cursor.end
    if (!isTyped) return TX_TYPE.legacy
    return first === 0 ? TYPED_ZERO : first
  }
}

function fault(reason: string, cause?: unknown): DecodeError {
  return new DecodeError(`span batch: ${reason}`, cause === undefined ? {} : { cause })
}
