const POOL_BYTES = 8192

/**
 * Memory for many short byte strings that live about as long as each other. V8 gives each array of more than 64 bytes a
 * buffer of its own, which takes as long as all the rest of hashing a node, and 200 bytes beside it. One that is kept keeps
 * the 8 kB that it lies in.
 */
export class BytePool {
  private free: Uint8Array = new Uint8Array(0)
  private used = 0

  /** The bytes of `source` from `start` to `end`, copied. */
  copy(source: Uint8Array, start: number, end: number): Uint8Array {
    const bytes = this.take(end - start)
    // Of a few bytes the loop takes half of what `set` and its view take.
    if (bytes.length > LOOP_BYTES) bytes.set(bytes.length === source.length ? source : source.subarray(start, end))
    else for (let index = 0; index < bytes.length; index++) bytes[index] = source[start + index] ?? 0
    return bytes
  }

  private take(length: number): Uint8Array {
    if (this.used + length > this.free.length) {
      // Not filled with zeros first: whoever takes a piece writes all of it.
      this.free = Buffer.allocUnsafeSlow(Math.max(POOL_BYTES, length))
      this.used = 0
    }
    const bytes = new Uint8Array(this.free.buffer, this.used, length)
    this.used += length
    return bytes
  }
}

const LOOP_BYTES = 160
