/** The bits of a span batch. Bit i is `(x >> i) & 1` of a big-endian integer x of ceil(n / 8) bytes. */
export class BitListWriter {
  /** Least significant byte first. */
  private bytes = new Uint8Array(64)
  private count = 0

  get length(): number {
    return this.count
  }

  push(bit: boolean): void {
    const index = this.count >>> 3
    if (index >= this.bytes.length) {
      const grown = new Uint8Array(this.bytes.length * 2)
      grown.set(this.bytes)
      this.bytes = grown
    }
    if (bit) this.bytes[index] = (this.bytes[index] ?? 0) | (1 << (this.count & 7))
    this.count++
  }

  encode(): Uint8Array {
    return this.bytes.slice(0, (this.count + 7) >>> 3).reverse()
  }
}

export class BitList {
  private readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  has(index: number): boolean {
    return (((this.bytes[this.bytes.length - 1 - (index >>> 3)] ?? 0) >>> (index & 7)) & 1) === 1
  }

  setBits(): number {
    let count = 0
    for (const byte of this.bytes) for (let rest = byte; rest !== 0; rest &= rest - 1) count++
    return count
  }
}
