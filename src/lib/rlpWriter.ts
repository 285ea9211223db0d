import { concatBytes } from './bytes.ts'
import { fromHex, type Hex } from './hex.ts'
import { encodeRlp } from './rlp.ts'

/** Room for the list's own header, which is known last. */
const HEAD_BYTES = 9

/**
 * Puts one RLP list of strings together in a buffer that is used again and again: for lists that are made often and
 * mostly hashed at once.
 */
export class RlpListWriter {
  private buffer = Buffer.alloc(1024)
  private end = HEAD_BYTES

  begin(): void {
    this.end = HEAD_BYTES
  }

  /** Bytes written as hex text; errors as fromHex. */
  hex(text: Hex, bytes: number | undefined, what: string): void {
    const length = (text.length - 2) / 2
    this.reserve(length)
    // One byte may stand for itself.
    const start = this.end + headerLength(length)
    const isPlain = length !== 1 && length === (bytes ?? length) && text.startsWith('0x')
    if (!isPlain || this.buffer.write(text.slice(2), start, 'hex') !== length) {
      this.add(encodeRlp(fromHex(text, bytes, what)))
      return
    }
    writeHeader(this.buffer, this.end, 0x80, length)
    this.end = start + length
  }

  /** In the fewest bytes. Throws RangeError when it is negative. */
  integer(value: bigint | number): void {
    if (value < 0) throw new RangeError(`${value} is negative`)
    if (value > Number.MAX_SAFE_INTEGER) {
      this.add(encodeRlp(value))
      return
    }
    let rest = Number(value)
    this.reserve(HEAD_BYTES)
    if (rest > 0 && rest < 0x80) {
      this.buffer[this.end++] = rest
      return
    }
    let length = 0
    for (let left = rest; left > 0; left = Math.floor(left / 256)) length += 1
    this.buffer[this.end] = 0x80 + length
    for (let at = this.end + length; at > this.end; at--) {
      this.buffer[at] = rest % 256
      rest = Math.floor(rest / 256)
    }
    this.end += 1 + length
  }

  /** The list. The bytes are good until the next `begin`. */
  finish(): Uint8Array {
    const length = this.end - HEAD_BYTES
    const start = HEAD_BYTES - headerLength(length)
    writeHeader(this.buffer, start, 0xc0, length)
    return new Uint8Array(this.buffer.buffer, this.buffer.byteOffset + start, this.end - start)
  }

  private add(encoded: Uint8Array): void {
    this.reserve(encoded.length)
    this.buffer.set(encoded, this.end)
    this.end += encoded.length
  }

  private reserve(length: number): void {
    const needed = this.end + length + HEAD_BYTES
    if (needed > this.buffer.length) {
      this.buffer = Buffer.from(concatBytes(this.buffer.subarray(0, this.end), new Uint8Array(needed * 2)))
    }
  }
}

function headerLength(length: number): number {
  if (length < 56) return 1
  return length < 0x100 ? 2 : length < 0x1_0000 ? 3 : length < 0x100_0000 ? 4 : 5
}

function writeHeader(buffer: Buffer, at: number, base: number, length: number): void {
  const size = headerLength(length)
  buffer[at] = size === 1 ? base + length : base + 54 + size
  for (let i = 1; i < size; i++) buffer[at + i] = (length >>> (8 * (size - 1 - i))) & 0xff
}
