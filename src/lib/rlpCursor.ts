import { DecodeError } from './errors.ts'

/**
 * Iterates over RLP items without creating an object for each, because a batch may hold hundreds of thousands. After
 * `read`, the fields hold the position of the item.
 * Accepts only Ethereum's strict form: lengths are minimal, and a single byte below 0x80 is its own encoding. Errors
 * are DecodeErrors that name the subject and the item (`what`) and give the byte offset.
 */
export class RlpCursor {
  readonly data: Uint8Array
  /** Index of the transaction that contains the items, for messages. */
  transaction: number | undefined
  private readonly subject: string
  isList = false
  /** First byte of the item's header. */
  itemStart = 0
  /** First byte of its payload. */
  start = 0
  /** The end of its payload, where the next item begins. */
  end = 0

  constructor(data: Uint8Array, subject = 'rlp') {
    this.data = data
    this.subject = subject
  }

  /** Reads the item at `offset`, which must end at or before `limit`. */
  read(offset: number, limit: number, what?: string): void {
    const { data } = this
    const first = offset < limit ? data[offset] : undefined
    if (first === undefined) throw this.fault(what, 'missing, the input ends before it', offset)
    this.itemStart = offset
    this.isList = first >= 0xc0
    if (first < 0x80) {
      this.start = offset
      this.end = offset + 1
      return
    }
    let length = first - (this.isList ? 0xc0 : 0x80)
    let start = offset + 1
    if (length > 55) {
      start += length - 55
      if (start > limit) throw this.fault(what, 'its length is cut off', offset)
      length = 0
      for (let i = offset + 1; i < start; i++) length = length * 256 + (data[i] ?? 0)
      if (data[offset + 1] === 0 || length < 56) throw this.fault(what, 'length is not minimal', offset)
    } else if (length === 1 && !this.isList && start < limit && (data[start] ?? 0) < 0x80) {
      throw this.fault(what, 'single byte is not minimal', offset)
    }
    this.start = start
    this.end = start + length
    if (this.end > limit) throw this.fault(what, `${length} bytes long, ${limit - start} are left`, offset)
  }

  /** Like `read`; the item must be a byte string. */
  readString(offset: number, limit: number, what?: string): void {
    this.read(offset, limit, what)
    if (this.isList) throw this.fault(what, 'expected a byte string', offset)
  }

  /** Reads the next item, which must be a byte string, and returns this cursor. */
  nextString(limit: number, what?: string): this {
    this.readString(this.end, limit, what)
    return this
  }

  /** Like `read`; the item must be a byte string of exactly `length` bytes. */
  readFixed(offset: number, limit: number, length: number, what?: string): void {
    this.readString(offset, limit, what)
    const got = this.end - this.start
    if (got !== length) throw this.fault(what, `expected ${length} bytes, got ${got}`, offset)
  }

  /** Like `read`; the item must be a list. */
  readList(offset: number, limit: number, what?: string): void {
    this.read(offset, limit, what)
    if (!this.isList) throw this.fault(what, 'expected a list', offset)
  }

  /** Like `read`; the item must be an integer of at most `maxBytes` bytes, without leading zeros. */
  readInteger(offset: number, limit: number, maxBytes: number, what?: string): void {
    this.readString(offset, limit, what)
    const length = this.end - this.start
    if (length > maxBytes) throw this.fault(what, `integer is longer than ${maxBytes} bytes`, offset)
    if (length > 0 && this.data[this.start] === 0) throw this.fault(what, 'integer has leading zeros', this.start)
  }

  fault(what: string | undefined, rule: string, at: number): DecodeError {
    const item = what === undefined ? this.subject : `${this.subject} ${what}`
    const owner = this.transaction === undefined ? '' : ` of transaction ${this.transaction}`
    return new DecodeError(`${item}${owner}: ${rule}`, { at })
  }
}
