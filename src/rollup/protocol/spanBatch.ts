import { DecodeError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import { BitList } from './bitList.ts'
import { MAX_SPAN_BATCH_ELEMENTS } from './constants.ts'
import { RlpCursor } from './rlpCursor.ts'
import { rebuildTransactions, type SpanTransactions } from './spanBatchTransactions.ts'
import { SPAN_BATCH_TYPE, type SpanBatch, type SpanBatchElement, TX_TYPE, TYPED_ZERO } from './spanBatchTypes.ts'
import type { RollupConfig } from './types.ts'

/** More RLP than this of one transaction is refused, as the reference node does. */
const MAX_TX_DATA_BYTES = 10_000_000

/**
 * Decodes type byte and content; bytes after the batch are ignored, as the reference node does. Takes linear time; all
 * transactions are views into one new buffer. Throws DecodeError: with `details.leavesChannel` where the layout is broken, so that the reference node
 * gives up the channel, and without where only this batch is lost.
 */
export function decodeSpanBatch(bytes: Uint8Array, config: RollupConfig): SpanBatch {
  if (bytes[0] !== SPAN_BATCH_TYPE) throw layoutFault(`type byte is ${bytes[0]}`)
  const reader = new SpanReader(bytes, 1)
  const relTimestamp = reader.uvarint()
  const l1OriginNumber = reader.uvarint64()
  const parentCheck = toHex(reader.take(20))
  const l1OriginCheck = toHex(reader.take(20))
  const blockCount = reader.count()
  if (blockCount === 0) throw layoutFault('no blocks')
  const originBits = reader.bits(blockCount)
  const txCounts = new Uint32Array(blockCount)
  let total = 0
  for (let i = 0; i < blockCount; i++) {
    const count = reader.count()
    txCounts[i] = count
    total += count
  }
  if (total > MAX_SPAN_BATCH_ELEMENTS) throw layoutFault(`${total} transactions`)
  const transactions = rebuildTransactions(readTransactions(reader, total), config.l2ChainId)

  const firstTimestamp = config.genesis.l2Time + relTimestamp
  if (!Number.isSafeInteger(firstTimestamp + blockCount * config.blockTime)) {
    throw new DecodeError(`span batch: time ${firstTimestamp} is too large`)
  }
  const epochs = new Float64Array(blockCount)
  let epoch = Number(l1OriginNumber)
  for (let i = blockCount - 1; i >= 0; i--) {
    epochs[i] = epoch
    if (originBits.has(i)) epoch--
  }
  const elements: SpanBatchElement[] = []
  let next = 0
  for (let i = 0; i < blockCount; i++) {
    const end = next + (txCounts[i] ?? 0)
    elements.push({
      timestamp: firstTimestamp + i * config.blockTime,
      epochNumber: epochs[i] ?? 0,
      originChanged: originBits.has(i),
      transactions: transactions.slice(next, end),
    })
    next = end
  }
  return { type: 'span', parentCheck, l1OriginCheck, l1OriginNumber, elements }
}

function readTransactions(reader: SpanReader, count: number): SpanTransactions {
  const creationBits = reader.bits(count)
  const parityBits = reader.bits(count)
  const signatures = reader.take(count * 64)
  let recipientCount = 0
  for (let i = 0; i < count; i++) if (!creationBits.has(i)) recipientCount++
  const recipients = reader.take(recipientCount * 20)
  const types = new Uint8Array(count)
  const dataStarts = new Uint32Array(count)
  const dataEnds = new Uint32Array(count)
  let legacyCount = 0
  for (let i = 0; i < count; i++) {
    const type = reader.txData()
    types[i] = type
    dataStarts[i] = reader.itemStart
    dataEnds[i] = reader.offset
    if (type === TX_TYPE.legacy || type === TYPED_ZERO) legacyCount++
  }
  const nonceStart = reader.offset
  reader.skipUvarints(count)
  const gasStart = reader.offset
  reader.skipUvarints(count)
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

/** Sequential reading; every fault leaves the channel. */
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

  take(length: number): Uint8Array {
    const end = this.offset + length
    if (end > this.bytes.length) throw layoutFault('truncated')
    const part = this.bytes.subarray(this.offset, end)
    this.offset = end
    return part
  }

  bits(count: number): BitList {
    const part = this.take((count + 7) >>> 3)
    try {
      return new BitList(part, count)
    } catch (cause) {
      throw layoutFault('bit list is too long', cause)
    }
  }

  /** A number of blocks or transactions. */
  count(): number {
    const value = this.uvarint()
    if (value > MAX_SPAN_BATCH_ELEMENTS) throw layoutFault(`${value} elements`)
    return value
  }

  /** Little-endian base-128 integer. Beyond 2^53 it is rounded: callers refuse such values. */
  uvarint(): number {
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
        if (offset === limit) throw layoutFault('integer has more than 64 bits')
      }
      if (offset >= bytes.length) throw layoutFault('truncated')
      if (offset === limit - 1 && (bytes[offset] ?? 0) > 1) throw layoutFault('integer has more than 64 bits')
      offset++
    }
    this.offset = offset
  }

  /** Steps over the data of a transaction and returns its type: 0 for a bare list, TYPED_ZERO for a type byte of 0. */
  txData(): number {
    const first = this.bytes[this.offset]
    if (first === undefined) throw layoutFault('truncated')
    const isTyped = first <= 0x7f
    this.itemStart = isTyped ? this.offset + 1 : this.offset
    try {
      this.cursor.readList(this.itemStart, this.bytes.length)
    } catch (cause) {
      throw layoutFault('transaction data', cause)
    }
    if (this.cursor.end - this.itemStart > MAX_TX_DATA_BYTES) throw layoutFault('transaction data are too long')
    this.offset = this.cursor.end
    if (!isTyped) return TX_TYPE.legacy
    return first === 0 ? TYPED_ZERO : first
  }
}

function layoutFault(reason: string, cause?: unknown): DecodeError {
  return new DecodeError(`span batch: ${reason}`, { cause, details: { leavesChannel: true } })
}
