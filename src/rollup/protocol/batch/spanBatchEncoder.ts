import { bigIntToMinimalBytes, bytesToBigInt, equalBytes } from '../../../lib/bytes.ts'
import { DecodeError, DeviumError } from '../../../lib/errors.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import { ByteWriter } from '../byteWriter.ts'
import type { RollupConfig } from '../types.ts'
import { BitListWriter } from './bitList.ts'
import { isSignedTxType, SPAN_BATCH_TYPE, TX_SHAPE, TX_TYPE } from './spanBatchTypes.ts'

/** A block to encode in a span batch. */
export interface SpanBatchBlock {
  parentHash: Hex
  timestamp: number
  epochNumber: number
  epochHash: Hex
  sequenceNumber: number
  /** EIP-2718 encodings, without deposits. */
  transactions: readonly Uint8Array[]
}

/**
 * Encodes consecutive blocks as a span batch: type byte and content. Throws DecodeError for a transaction that is
 * malformed, of another chain, or of a type that batches cannot carry. Throws DeviumError (`span-batch`) if the blocks
 * are not consecutive.
 */
export function encodeSpanBatch(blocks: readonly SpanBatchBlock[], config: RollupConfig): Uint8Array {
  const encoder = new SpanBatchEncoder(config)
  for (const block of blocks) encoder.add(block)
  return encoder.encode()
}

/** Builds a span batch block by block. Adding takes time linear in the block, encoding in the whole batch. */
export class SpanBatchEncoder {
  private readonly config: RollupConfig
  private readonly chainId: Uint8Array
  private first: SpanBatchBlock | undefined
  private last: SpanBatchBlock | undefined

  private readonly originBits = new BitListWriter()
  private readonly txCounts = new ByteWriter()
  private readonly creationBits = new BitListWriter()
  private readonly parityBits = new BitListWriter()
  private readonly signatures = new ByteWriter()
  private readonly recipients = new ByteWriter()
  private readonly datas = new ByteWriter()
  private readonly nonces = new ByteWriter()
  private readonly gases = new ByteWriter()
  private readonly protectedBits = new BitListWriter()

  constructor(config: RollupConfig) {
    this.config = config
    this.chainId = bigIntToMinimalBytes(config.l2ChainId)
  }

  get blockCount(): number {
    return this.originBits.length
  }

  /** Size of the batch so far, without its prefix. */
  get bytes(): number {
    const bits = this.originBits.length + this.creationBits.length + this.parityBits.length + this.protectedBits.length
    const columns = [this.txCounts, this.signatures, this.recipients, this.datas, this.nonces, this.gases]
    return columns.reduce((sum, { length }) => sum + length, Math.ceil(bits / 8))
  }

  /** Throws the errors of `encodeSpanBatch`. After an error the encoder must not be used. */
  add(block: SpanBatchBlock): void {
    const { last } = this
    this.first ??= block
    let originChanged = block.sequenceNumber === 0
    if (last !== undefined) {
      const step = block.epochNumber - last.epochNumber
      if (step !== 0 && step !== 1) throw notConsecutive(`L1 origin ${block.epochNumber} after ${last.epochNumber}`)
      if (block.timestamp !== last.timestamp + this.config.blockTime) {
        throw notConsecutive(`time ${block.timestamp} after ${last.timestamp}`)
      }
      originChanged = step === 1
    }
    this.originBits.push(originChanged)
    this.txCounts.uvarint(block.transactions.length)
    for (const tx of block.transactions) this.addTransaction(tx)
    this.last = block
  }

  /** Encodes the batch so far. Throws DeviumError (`span-batch`) if it is empty. */
  encode(): Uint8Array {
    const { first, last } = this
    if (first === undefined || last === undefined) throw notConsecutive('no blocks')
    const size = this.signatures.length + this.recipients.length + this.datas.length + this.creationBits.length
    const out = new ByteWriter(256 + size + this.nonces.length + this.gases.length + this.txCounts.length)
    out.byte(SPAN_BATCH_TYPE)
    out.uvarint(first.timestamp - this.config.genesis.l2Time)
    out.uvarint(last.epochNumber)
    out.bytes(fromHex(first.parentHash, 32, 'parent hash').subarray(0, 20))
    out.bytes(fromHex(last.epochHash, 32, 'origin hash').subarray(0, 20))
    out.uvarint(this.blockCount)
    out.bytes(this.originBits.encode())
    out.bytes(this.txCounts.view())
    out.bytes(this.creationBits.encode())
    out.bytes(this.parityBits.encode())
    out.bytes(this.signatures.view())
    out.bytes(this.recipients.view())
    out.bytes(this.datas.view())
    out.bytes(this.nonces.view())
    out.bytes(this.gases.view())
    out.bytes(this.protectedBits.encode())
    return out.view()
  }

  private addTransaction(tx: Uint8Array): void {
    const first = tx[0] ?? 0
    const isLegacy = first >= 0xc0
    const type = isLegacy ? TX_TYPE.legacy : first
    if (type === TX_TYPE.postExec) {
      this.addPostExec(tx)
      return
    }
    if (!isSignedTxType(type) || (type === TX_TYPE.legacy && !isLegacy)) {
      throw new DecodeError(`transaction: type ${type} cannot be in a batch`)
    }
    const { length } = tx
    const cursor = new RlpCursor(tx)
    cursor.readList(isLegacy ? 0 : 1, length)
    if (cursor.end !== length) throw new DecodeError('transaction: bytes after its end')
    cursor.end = cursor.start
    const shape = TX_SHAPE[type]

    if (!isLegacy) this.checkChainId(cursor.nextString(length))
    writeUvarint(this.nonces, cursor.nextString(length))
    const pricesStart = cursor.end
    for (const _ of shape.prices) cursor.nextString(length)
    const pricesEnd = cursor.end
    writeUvarint(this.gases, cursor.nextString(length))
    this.addRecipient(cursor.nextString(length), type)
    const valueStart = cursor.end
    cursor.nextString(length)
    const valueEnd = cursor.end
    for (let i = 0; i <= shape.lists.length; i++) cursor.read(cursor.end, length)
    const dataEnd = cursor.end

    // The fields that have no column of their own, in the order value, prices, data, lists.
    const { datas } = this
    if (!isLegacy) datas.byte(type)
    datas.rlpListHeader(pricesEnd - pricesStart + (dataEnd - valueStart))
    datas.copy(tx, valueStart, valueEnd)
    datas.copy(tx, pricesStart, pricesEnd)
    datas.copy(tx, valueEnd, dataEnd)

    this.addParity(cursor.nextString(length), isLegacy)
    for (let i = 0; i < 2; i++) {
      cursor.nextString(length)
      if (cursor.end - cursor.start > 32) throw new DecodeError('transaction: signature is too long')
      this.signatures.leftPadded(tx, cursor.start, cursor.end, 32)
    }
    if (cursor.end !== length) throw new DecodeError('transaction: more fields than its type has')
  }

  /** Puts the whole transaction into the data column, and empty values into the other columns. */
  private addPostExec(tx: Uint8Array): void {
    const cursor = new RlpCursor(tx)
    cursor.readList(1, tx.length)
    if (cursor.end !== tx.length) throw new DecodeError('transaction: bytes after its end')
    this.datas.bytes(tx)
    this.creationBits.push(true)
    this.parityBits.push(false)
    this.signatures.bytes(NO_SIGNATURE)
    this.nonces.byte(0)
    this.gases.byte(0)
  }

  private addRecipient({ data, start, end }: RlpCursor, type: number): void {
    const length = end - start
    if (length !== 0 && length !== 20) throw new DecodeError(`transaction: recipient of ${length} bytes`)
    if (length === 0 && type === TX_TYPE.setCode) throw new DecodeError('transaction: type 4 needs a recipient')
    this.creationBits.push(length === 0)
    this.recipients.copy(data, start, end)
  }

  private addParity(v: RlpCursor, isLegacy: boolean): void {
    const value = integerOf(v)
    if (!isLegacy) {
      if (value !== 0n && value !== 1n) throw new DecodeError(`transaction: y parity ${value}`)
      this.parityBits.push(value === 1n)
      return
    }
    const isUnprotected = value === 27n || value === 28n
    this.protectedBits.push(!isUnprotected)
    if (isUnprotected) {
      this.parityBits.push(value === 28n)
      return
    }
    const parity = value - 35n - 2n * this.config.l2ChainId
    if (parity !== 0n && parity !== 1n) throw new DecodeError(`transaction: v ${value} is of another chain`)
    this.parityBits.push(parity === 1n)
  }

  private checkChainId({ data, start, end }: RlpCursor): void {
    if (equalBytes(data.subarray(start, end), this.chainId)) return
    throw new DecodeError(`transaction: chain id is not ${this.config.l2ChainId}`)
  }
}

const NO_SIGNATURE = new Uint8Array(64)

/** Writes a big-endian integer of at most 64 bits as uvarint. */
function writeUvarint(out: ByteWriter, integer: RlpCursor): void {
  if (integer.end - integer.start > 8) throw new DecodeError('transaction: nonce or gas is longer than 8 bytes')
  out.uvarint(integerOf(integer))
}

/** The big-endian integer at the cursor. */
function integerOf({ data, start, end }: RlpCursor): bigint {
  return bytesToBigInt(data.subarray(start, end))
}

function notConsecutive(reason: string): DeviumError {
  return new DeviumError('span-batch', `span batch: ${reason}`)
}
