import { bigIntToMinimalBytes } from '../../lib/bytes.ts'

/** A growing byte buffer, for encoders that do not know the length in advance. */
export class ByteWriter {
  private buffer: Uint8Array<ArrayBuffer>
  private used = 0

  constructor(initialBytes = 1024) {
    this.buffer = new Uint8Array(initialBytes)
  }

  get length(): number {
    return this.used
  }

  byte(value: number): void {
    this.reserve(1)
    this.buffer[this.used++] = value
  }

  bytes(value: Uint8Array): void {
    this.reserve(value.length)
    this.buffer.set(value, this.used)
    this.used += value.length
  }

  /** Copies bytes start..end of `source`. */
  copy(source: Uint8Array, start: number, end: number): void {
    const length = end - start
    this.reserve(length)
    // For a few bytes, creating a view takes longer than copying one by one.
    if (length > 48) this.buffer.set(source.subarray(start, end), this.used)
    else for (let i = 0; i < length; i++) this.buffer[this.used + i] = source[start + i] ?? 0
    this.used += length
  }

  /** Copies bytes start..end of `source`, padded on the left with zeros to `length` bytes. */
  leftPadded(source: Uint8Array, start: number, end: number, length: number): void {
    this.reserve(length)
    const padding = length - (end - start)
    this.buffer.fill(0, this.used, this.used + padding)
    for (let i = padding; i < length; i++) this.buffer[this.used + i] = source[start + i - padding] ?? 0
    this.used += length
  }

  /** Writes bytes start..end of `source` as an RLP string. */
  rlpString(source: Uint8Array, start = 0, end = source.length): void {
    const length = end - start
    if (length !== 1 || (source[start] ?? 0) >= 0x80) this.rlpHeader(0x80, length)
    this.copy(source, start, end)
  }

  /** Writes the header of a list whose items take `length` bytes. */
  rlpListHeader(length: number): void {
    this.rlpHeader(0xc0, length)
  }

  /** Little-endian base-128 integer, as in Go's encoding/binary. */
  uvarint(value: number | bigint): void {
    let rest = BigInt(value)
    while (rest >= 0x80n) {
      this.byte(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    this.byte(Number(rest))
  }

  clear(): void {
    this.used = 0
  }

  /** A view of the written bytes; valid until the next write. */
  view(): Uint8Array {
    return this.buffer.subarray(0, this.used)
  }

  private rlpHeader(base: number, length: number): void {
    if (length < 56) {
      this.byte(base + length)
      return
    }
    const lengthBytes = bigIntToMinimalBytes(length)
    this.byte(base + 55 + lengthBytes.length)
    this.bytes(lengthBytes)
  }

  private reserve(extra: number): void {
    if (this.used + extra <= this.buffer.length) return
    const grown = new Uint8Array(Math.max(this.used + extra, this.buffer.length * 2))
    grown.set(this.view())
    this.buffer = grown
  }
}
