import { bigIntToMinimalBytes, bytesToBigInt } from './bytes.ts'
import { DecodeError } from './errors.ts'
import { toSafeNumber } from './hex.ts'
import { RlpCursor } from './rlpCursor.ts'

/** Bytes, non-negative integers (minimal big-endian), or lists of these. */
export type RlpInput = Uint8Array | number | bigint | readonly RlpInput[]
/** Byte strings are views into the input, not copies. */
export type RlpItem = Uint8Array | RlpItem[]

/** Yellow Paper appendix B. */
export function encodeRlp(input: RlpInput): Uint8Array {
  return encodeRlpBriefly(input).slice()
}

/**
 * Like `encodeRlp`, but the result is valid only until the next call. This saves a copy for bytes that are hashed at
 * once.
 */
export function encodeRlpBriefly(input: RlpInput): Uint8Array {
  at = scratch.length
  write(input)
  return written()
}

/** The encoding with a type byte in front (EIP-2718). */
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
 * Encodings are written here from the end to the front, because a list's header depends on the length of its items.
 * This needs one array for each encoding instead of one for each item.
 */
let scratch = new Uint8Array(4096)
/** Offset of the first written byte. */
let at = 0
/** A larger array is not kept for reuse. */
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
  // For a few bytes, the loop takes less than half the time of the native function.
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

/** The header of a list whose encoded items have `length` bytes in total. */
export function rlpListHeader(length: number): Uint8Array {
  at = scratch.length
  writeHeader(0xc0, length)
  return scratch.slice(at)
}

/** Reads only the header of an item. Throws DecodeError. */
export function readRlpHeader(data: Uint8Array, offset: number): Pick<RlpCursor, 'isList' | 'start' | 'end'> {
  const cursor = new RlpCursor(data)
  cursor.read(offset, data.length)
  return cursor
}

/**
 * Decodes exactly one item, which must fill the input. The nesting limit keeps hostile input from exhausting the stack.
 */
export function decodeRlp(data: Uint8Array): RlpItem {
  const cursor = new RlpCursor(data)
  const item = decodeAt(cursor, 0, data.length, 0)
  checkEnd(cursor)
  return item
}

/** Decodes the item at `offset` and leaves the cursor on it. */
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
 * Splits a list into the encodings of its items, as views into the input. The content of the items is not checked. The
 * list must fill the input, and have `length` items if given.
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

/** The item as byte string, of `length` bytes if given. */
export function rlpBytes(item: RlpItem | undefined, what: string, length?: number): Uint8Array {
  if (!(item instanceof Uint8Array)) throw new DecodeError(`${what}: expected a byte string`)
  if (length !== undefined && item.length !== length) {
    throw new DecodeError(`${what}: expected ${length} bytes, got ${item.length}`)
  }
  return item
}

/** The item as list, of `length` items if given. */
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

/** The item as integer of at most `maxBytes` bytes, without leading zeros. */
export function rlpBigInt(item: RlpItem | undefined, what: string, maxBytes = 32): bigint {
  const bytes = rlpBytes(item, what)
  if (bytes.length > maxBytes) throw new DecodeError(`${what}: integer is longer than ${maxBytes} bytes`)
  if (bytes[0] === 0) throw new DecodeError(`${what}: integer has leading zeros`)
  return bytesToBigInt(bytes)
}

/** The item as integer up to 2^53-1. */
export function rlpNumber(item: RlpItem | undefined, what: string): number {
  return toSafeNumber(rlpBigInt(item, what, 8), what)
}
