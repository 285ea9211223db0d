import { isSignedTxType, TX_SHAPE } from '../../../rollup/protocol/batch/spanBatchTypes.ts'
import { MalformedError } from './fault.ts'
import { readInteger, readList, readString } from './rlpItem.ts'

const MAX_ELEMENTS = 10_000_000

/** Bytes of each part of a span batch, in their order (specs: delta/span-batches, "Span batch format"). */
export type SpanLayout = Record<string, number>

/** Walks over a singular batch. Returns how many bytes stand behind it. Throws MalformedError at the first broken rule. */
export function checkSingularBatch(bytes: Uint8Array): { ignoredBytes: number } {
  const list = readList(bytes, 1, bytes.length, 'the singular batch')
  const parent = readString(bytes, list.start, list.end, 'the parent hash', 32)
  const epoch = readInteger(bytes, parent.end, list.end, 'the epoch number', 8)
  const epochHash = readString(bytes, epoch.end, list.end, 'the epoch hash', 32)
  const time = readInteger(bytes, epochHash.end, list.end, 'the timestamp', 8)
  const transactions = readList(bytes, time.end, list.end, 'the list of transactions')
  let at = transactions.start
  for (let i = 0; at < transactions.end; i++) at = readString(bytes, at, transactions.end, `transaction ${i}`).end
  if (transactions.end !== list.end) {
    throw new MalformedError(transactions.end, 'the singular batch has more than its five fields')
  }
  return { ignoredBytes: bytes.length - list.end }
}

/** Walks over a span batch. Throws MalformedError at the first broken rule. */
export function checkSpanBatch(bytes: Uint8Array): { layout: SpanLayout; ignoredBytes: number } {
  const walk = new SpanWalk(bytes)
  walk.uvarint('the relative timestamp')
  walk.uvarint('the L1 origin number')
  walk.take(20, 'the parent check')
  walk.take(20, 'the L1 origin check')
  walk.ends('prefix')
  const blockCountAt = walk.offset
  const blocks = walk.count('the block count')
  if (blocks === 0) throw new MalformedError(blockCountAt, 'the block count is 0')
  walk.bits(blocks, 'the origin bits')
  walk.ends('origins')
  let total = 0
  for (let i = 0; i < blocks; i++) {
    const at = walk.offset
    total += walk.count(`the transaction count of block ${i}`)
    if (total > MAX_ELEMENTS) throw new MalformedError(at, `more than ${MAX_ELEMENTS} transactions`)
  }
  walk.ends('counts')
  const creation = walk.bits(total, 'the contract creation bits')
  walk.bits(total, 'the y parity bits')
  walk.ends('bits')
  walk.take(total * 64, 'the signatures')
  walk.ends('signatures')
  const creations = countBits(creation, total)
  walk.take((total - creations) * 20, 'the recipients')
  walk.ends('recipients')
  let legacy = 0
  for (let i = 0; i < total; i++) if (walk.txData(i)) legacy++
  walk.ends('data')
  for (let i = 0; i < total; i++) walk.uvarint(`the nonce of transaction ${i}`)
  walk.ends('nonces')
  for (let i = 0; i < total; i++) walk.uvarint(`the gas limit of transaction ${i}`)
  walk.ends('gasLimits')
  walk.bits(legacy, 'the protected bits')
  walk.ends('protected')
  return { layout: walk.layout, ignoredBytes: bytes.length - walk.offset }
}

class SpanWalk {
  readonly layout: SpanLayout = {}
  offset = 1
  private readonly bytes: Uint8Array
  private sectionStart = 1

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  ends(section: string): void {
    this.layout[section] = this.offset - this.sectionStart
    this.sectionStart = this.offset
  }

  take(length: number, what: string): Uint8Array {
    const end = this.offset + length
    if (end > this.bytes.length) {
      throw new MalformedError(this.offset, `${what} need ${length} bytes, ${this.bytes.length - this.offset} are left`)
    }
    const part = this.bytes.subarray(this.offset, end)
    this.offset = end
    return part
  }

  uvarint(what: string): bigint {
    const start = this.offset
    let value = 0n
    for (let i = 0; ; i++) {
      const byte = this.bytes[start + i]
      if (byte === undefined) throw new MalformedError(start, `${what} is cut off`)
      if (i === 9 && byte > 1) throw new MalformedError(start, `${what} has more than 64 bits`)
      value |= BigInt(byte & 0x7f) << BigInt(7 * i)
      if (byte >= 0x80) continue
      this.offset = start + i + 1
      return value
    }
  }

  count(what: string): number {
    const at = this.offset
    const value = this.uvarint(what)
    if (value > MAX_ELEMENTS) throw new MalformedError(at, `${what} is ${value}, at most ${MAX_ELEMENTS} are allowed`)
    return Number(value)
  }

  bits(count: number, what: string): Uint8Array {
    const at = this.offset
    const part = this.take(Math.ceil(count / 8), what)
    const spare = part.length * 8 - count
    if (spare > 0 && (part[0] ?? 0) >>> (8 - spare) !== 0) {
      throw new MalformedError(at, `${what} have bits beyond their ${count}`)
    }
    return part
  }

  /** Whether it is a legacy transaction. */
  txData(index: number): boolean {
    const { bytes } = this
    const what = `the data of transaction ${index}`
    const first = bytes[this.offset]
    if (first === undefined) throw new MalformedError(this.offset, `${what} is missing`)
    const isTyped = first <= 0x7f
    const at = this.offset + (isTyped ? 1 : 0)
    const list = readList(bytes, at, bytes.length, what)
    this.offset = list.end
    const type = isTyped ? first : 0
    if (isTyped && (type === 0 || !isSignedTxType(type))) {
      if (type === 0x7d) return false
      throw new MalformedError(at - 1, `transaction ${index} has type ${type}, which batches do not carry`)
    }
    if (!isSignedTxType(type)) return false
    const shape = TX_SHAPE[type]
    let field = readInteger(
      bytes,
      list.start,
      list.end,
      `the value of transaction ${index}`,
      Number.MAX_SAFE_INTEGER,
    ).end
    for (let i = 0; i < shape.prices.length; i++) {
      field = readInteger(bytes, field, list.end, `a gas price of transaction ${index}`, Number.MAX_SAFE_INTEGER).end
    }
    field = readString(bytes, field, list.end, `the input of transaction ${index}`).end
    for (let i = 0; i < shape.lists.length; i++)
      field = readList(bytes, field, list.end, `a list of transaction ${index}`).end
    if (field !== list.end) throw new MalformedError(field, `transaction ${index} has more fields than its type`)
    return !isTyped
  }
}

function countBits(bytes: Uint8Array, count: number): number {
  let set = 0
  for (let i = 0; i < count; i++) if (((bytes[bytes.length - 1 - (i >>> 3)] ?? 0) >> (i & 7)) & 1) set++
  return set
}
