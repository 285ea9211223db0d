import { DecodeError } from '../../lib/errors.ts'

/**
 * Walks over RLP items without making an object for each: after `read` the members tell where the item stands. Strict as
 * `readRlpHeader`; used where a batch holds hundreds of thousands of items.
 */
export class RlpCursor {
  readonly data: Uint8Array
  isList = false
  /** First byte of the item's header. */
  itemStart = 0
  /** First byte of its payload. */
  start = 0
  /** Behind its payload, where the next item begins. */
  end = 0

  constructor(data: Uint8Array) {
    this.data = data
  }

  /** Reads the item at `offset`, which must end at or before `limit`. Throws DecodeError. */
  read(offset: number, limit: number): void {
    const { data } = this
    const first = offset < limit ? data[offset] : undefined
    if (first === undefined) throw new DecodeError('rlp: input ends before an item')
    this.itemStart = offset
    this.isList = first >= 0xc0
    if (first < 0x80) {
      this.start = offset
      this.end = offset + 1
      return
    }
    const short = first - (this.isList ? 0xc0 : 0x80)
    if (short <= 55) {
      this.start = offset + 1
      this.end = offset + 1 + short
      if (this.end > limit) throw new DecodeError('rlp: item is longer than the input')
      if (short === 1 && !this.isList && (data[offset + 1] ?? 0) < 0x80) {
        throw new DecodeError('rlp: single byte is not minimal')
      }
      return
    }
    const size = short - 55
    const start = offset + 1 + size
    if (start > limit) throw new DecodeError('rlp: input ends inside a length')
    let length = 0
    for (let i = offset + 1; i < start; i++) length = length * 256 + (data[i] ?? 0)
    if (data[offset + 1] === 0 || length < 56) throw new DecodeError('rlp: length is not minimal')
    this.start = start
    this.end = start + length
    if (this.end > limit) throw new DecodeError('rlp: item is longer than the input')
  }

  /** As read, and the item must be a byte string. */
  readString(offset: number, limit: number): void {
    this.read(offset, limit)
    if (this.isList) throw new DecodeError('rlp: expected a byte string')
  }

  /** Reads the item behind the present one, which must be a byte string, and returns this cursor. */
  nextString(limit: number): this {
    this.readString(this.end, limit)
    return this
  }

  /** As read, and the item must be a byte string of exactly `length` bytes. */
  readFixed(offset: number, limit: number, length: number): void {
    this.readString(offset, limit)
    if (this.end - this.start !== length) throw new DecodeError(`rlp: expected ${length} bytes`)
  }

  /** As read, and the item must be a list. */
  readList(offset: number, limit: number): void {
    this.read(offset, limit)
    if (!this.isList) throw new DecodeError('rlp: expected a list')
  }

  /** As read, and the item must be an integer of at most `maxBytes` without leading zeros. */
  readInteger(offset: number, limit: number, maxBytes: number): void {
    this.readString(offset, limit)
    const length = this.end - this.start
    if (length > maxBytes) throw new DecodeError(`rlp: integer is longer than ${maxBytes} bytes`)
    if (length > 0 && this.data[this.start] === 0) throw new DecodeError('rlp: integer has leading zeros')
  }
}
