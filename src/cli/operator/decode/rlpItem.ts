import { MalformedError } from './fault.ts'

/** Where an RLP item stands. */
export interface ItemPlace {
  isList: boolean
  at: number
  /** Its payload. */
  start: number
  end: number
}

/** The item at `at`, which must end at or before `limit`. Throws MalformedError that says at which byte and what it should be. */
export function readItem(bytes: Uint8Array, at: number, limit: number, what: string): ItemPlace {
  const first = at < limit ? bytes[at] : undefined
  if (first === undefined) throw new MalformedError(at, `${what} is missing: the bytes end before it`)
  if (first < 0x80) return { isList: false, at, start: at, end: at + 1 }
  const isList = first >= 0xc0
  const short = first - (isList ? 0xc0 : 0x80)
  let start = at + 1
  let length = short
  if (short > 55) {
    const size = short - 55
    if (start + size > limit) throw new MalformedError(at, `the length of ${what} is cut off`)
    length = 0
    for (let i = 0; i < size; i++) length = length * 256 + (bytes[start + i] ?? 0)
    if (bytes[start] === 0 || length < 56) throw new MalformedError(at, `the RLP length of ${what} is not minimal`)
    start += size
  }
  const end = start + length
  if (end > limit) throw new MalformedError(at, `${what} says it has ${length} bytes, but ${limit - start} are left`)
  if (!isList && length === 1 && (bytes[start] ?? 0) < 0x80) {
    throw new MalformedError(at, `${what} is a single byte below 0x80 and must stand for itself in RLP`)
  }
  return { isList, at, start, end }
}

/** As readItem, and it must be a list. */
export function readList(bytes: Uint8Array, at: number, limit: number, what: string): ItemPlace {
  const item = readItem(bytes, at, limit, what)
  if (!item.isList) throw new MalformedError(at, `${what} must be an RLP list and is a byte string`)
  return item
}

/** As readItem, and it must be a byte string, of exactly `length` bytes where that is given. */
export function readString(bytes: Uint8Array, at: number, limit: number, what: string, length?: number): ItemPlace {
  const item = readItem(bytes, at, limit, what)
  if (item.isList) throw new MalformedError(at, `${what} must be an RLP byte string and is a list`)
  const got = item.end - item.start
  if (length !== undefined && got !== length)
    throw new MalformedError(at, `${what} has ${got} bytes, expected ${length}`)
  return item
}

/** As readString, and it must be an integer of at most `maxBytes` without leading zeros. */
export function readInteger(bytes: Uint8Array, at: number, limit: number, what: string, maxBytes: number): ItemPlace {
  const item = readString(bytes, at, limit, what)
  const length = item.end - item.start
  if (length > maxBytes) throw new MalformedError(at, `${what} has ${length} bytes, at most ${maxBytes} are allowed`)
  if (length > 0 && bytes[item.start] === 0)
    throw new MalformedError(item.start, `${what} is an integer with leading zeros`)
  return item
}
