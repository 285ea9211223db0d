import { bigIntToMinimalBytes, bytesToBigInt } from './bytes.ts'
import { DecodeError } from './errors.ts'
import { RlpCursor } from './rlpCursor.ts'

/** What can be encoded: bytes, non-negative integers (minimal big-endian) and lists of these. */
export type RlpInput = Uint8Array | number | bigint | readonly RlpInput[]
/** What decoding yields. Byte strings are views into the input, not copies. */
export type RlpItem = Uint8Array | RlpItem[]

/** Yellow Paper appendix B. */
export function encodeRlp(input: RlpInput): Uint8Array {
  return encodeRlpBriefly(input).slice()
}

/** The same encoding, which lasts until the next call: for bytes that are hashed at once, it saves a copy. */
export function encodeRlpBriefly(input: RlpInput): Uint8Array {
  at = scratch.length
  write(input)
  return written()
}

/** The encoding behind a type byte (EIP-2718). */
export function encodeTypedRlp(type: number, input: RlpInput): Uint8Array {
  at = scratch.length
  write(input)
  reserve(1)
  scratch[--at] = type
  return written().slice()
}

function written(): Uint8Array {
  const encoding = scratch.subarray(at)
  if (scratch.length > KEPT_BYTES) scratch = new Uint8Array(KEPT_BYTES)
  return encoding
}

/**
 * Items are put down here from the end to the front: the header of a list stands before what it counts. So there is one
 * array for each encoding, not one for each item.
 */
let scratch = new Uint8Array(4096)
/** Where the first byte stands that was put down. */
let at = 0
/** Longer ones are not used again. */
const KEPT_BYTES = 65_536

function write(input: RlpInput): void {
  if (input instanceof Uint8Array) {
    writeBytes(input)
    return
  }
  if (typeof input === 'number' || typeof input === 'bigint') {
    writeBytes(bigIntToMinimalBytes(input))
    return
  }
  const before = scratch.length - at
  for (let index = input.length - 1; index >= 0; index--) {
    const item = input[index]
    if (item !== undefined) write(item)
  }
  writeHeader(0xc0, scratch.length - at - before)
}

function writeBytes(bytes: Uint8Array): void {
  const { length } = bytes
  reserve(length)
  at -= length
  // Of a few bytes the loop takes less than half of what the native function takes.
  if (length > LOOP_BYTES) scratch.set(bytes, at)
  else for (let index = 0; index < length; index++) scratch[at + index] = bytes[index] ?? 0
  if (length !== 1 || (bytes[0] ?? 0) >= 0x80) writeHeader(0x80, length)
}

const LOOP_BYTES = 32

function writeHeader(base: number, length: number): void {
  reserve(MAX_HEADER_BYTES)
  if (length < 56) {
    scratch[--at] = base + length
    return
  }
  let lengthBytes = 0
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) {
    scratch[--at] = rest % 256
    lengthBytes++
  }
  scratch[--at] = base + 55 + lengthBytes
}

const MAX_HEADER_BYTES = 9

function reserve(length: number): void {
  if (at >= length) return
  const used = scratch.length - at
  const longer = new Uint8Array(Math.max(scratch.length * 2, used + length))
  longer.set(scratch.subarray(at), longer.length - used)
  scratch = longer
  at = longer.length - used
}

/** What stands before the items of a list whose encodings have so many bytes together. */
export function rlpListHeader(length: number): Uint8Array {
  at = scratch.length
  writeHeader(0xc0, length)
  return scratch.slice(at)
}

/** Where an item stands, its header read by itself. Throws DecodeError. */
export function readRlpHeader(data: Uint8Array, offset: number): Pick<RlpCursor, 'isList' | 'start' | 'end'> {
  const cursor = new RlpCursor(data)
  cursor.read(offset, data.length)
  return cursor
}

/** Decodes exactly one item that must fill the input. Nesting is limited so that hostile input cannot exhaust the stack. */
export function decodeRlp(data: Uint8Array): RlpItem {
  const cursor = new RlpCursor(data)
  const item = decodeAt(cursor, 0, data.length, 0)
  checkEnd(cursor)
  return item
}

/** Decodes the item at `offset`, and leaves the cursor on it. */
function decodeAt(cursor: RlpCursor, offset: number, limit: number, depth: number): RlpItem {
  if (depth > 64) throw new DecodeError('rlp: nested more than 64 levels', { at: offset })
  cursor.read(offset, limit)
  const { data, start, end } = cursor
  if (!cursor.isList) return data.subarray(start, end)
  const items: RlpItem[] = []
  for (cursor.end = start; cursor.end < end; ) items.push(decodeAt(cursor, cursor.end, end, depth + 1))
  return items
}

/**
 * The encodings of a list's items, views into the input; what is inside them is not checked. The list must fill the input, and
 * have `length` items when given.
 */
export function splitRlpList(data: Uint8Array, what: string, length?: number): Uint8Array[] {
  const cursor = new RlpCursor(data)
  cursor.read(0, data.length)
  if (!cursor.isList) throw notList(what)
  checkEnd(cursor)
  const encodings: Uint8Array[] = []
  for (cursor.end = cursor.start; cursor.end < data.length; ) {
    cursor.read(cursor.end, data.length)
    encodings.push(data.subarray(cursor.itemStart, cursor.end))
  }
  return ofLength(encodings, what, length)
}

function checkEnd({ data, end }: RlpCursor): void {
  if (end !== data.length) throw new DecodeError(`rlp: ${data.length - end} bytes after the item`, { at: end })
}

/** The item as byte string, of `length` bytes when given. */
export function rlpBytes(item: RlpItem | undefined, what: string, length?: number): Uint8Array {
  if (!(item instanceof Uint8Array)) throw new DecodeError(`${what}: expected a byte string`)
  if (length !== undefined && item.length !== length) {
    throw new DecodeError(`${what}: expected ${length} bytes, got ${item.length}`)
  }
  return item
}

/** The item as list, of `length` items when given. */
export function rlpList(item: RlpItem | undefined, what: string, length?: number): RlpItem[] {
  if (!Array.isArray(item)) throw notList(what)
  return ofLength(item, what, length)
}

function notList(what: string): DecodeError {
  return new DecodeError(`${what}: expected a list`)
}

function ofLength<Item>(items: Item[], what: string, length: number | undefined): Item[] {
  if (length === undefined || items.length === length) return items
  throw new DecodeError(`${what}: expected ${length} items, got ${items.length}`)
}

/** The item as integer of at most `maxBytes`, without leading zeros. */
export function rlpBigInt(item: RlpItem | undefined, what: string, maxBytes = 32): bigint {
  const bytes = rlpBytes(item, what)
  if (bytes.length > maxBytes) throw new DecodeError(`${what}: integer is longer than ${maxBytes} bytes`)
  if (bytes[0] === 0) throw new DecodeError(`${what}: integer has leading zeros`)
  return bytesToBigInt(bytes)
}

/** The item as integer up to 2^53-1. */
export function rlpNumber(item: RlpItem | undefined, what: string): number {
  const value = rlpBigInt(item, what, 8)
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new DecodeError(`${what}: ${value} is larger than 2^53-1`)
  return Number(value)
}
