import { yieldToLoop } from '../../../lib/yieldToLoop.ts'

/** Bytes to copy before yielding to the event loop. */
const COPY_BYTES = 1024 * 1024

/**
 * Collects an unknown number of chunks. Chunks are copied at once, so that their memory is freed early. Freeing
 * thousands of chunks at the end would hold the event loop for long.
 */
export class GrowingOutput {
  length = 0
  private readonly maxBytes: number
  /** Each block is twice as large as the previous one. All but the last are full. */
  private readonly blocks: Uint8Array[] = []
  private readonly firstBytes: number
  private room = 0

  /** Output beyond `maxBytes` is dropped. */
  constructor(expectedBytes: number, maxBytes: number) {
    this.firstBytes = expectedBytes
    this.maxBytes = maxBytes
  }

  get isFull(): boolean {
    return this.length === this.maxBytes
  }

  add(piece: Uint8Array): void {
    for (let rest = piece; rest.length > 0 && !this.isFull; ) {
      const block = this.room > 0 ? this.blocks.at(-1) : this.grow()
      if (block === undefined) return
      const part = rest.subarray(0, this.room)
      block.set(part, block.length - this.room)
      this.room -= part.length
      this.length += part.length
      rest = rest.subarray(part.length)
    }
  }

  async joined(): Promise<Uint8Array> {
    const [first] = this.blocks
    if (first === undefined || this.blocks.length === 1) return (first ?? unfilled(0)).subarray(0, this.length)
    const joined = unfilled(this.length)
    let offset = 0
    for (const block of this.blocks) {
      const end = Math.min(block.length, this.length - offset)
      for (let from = 0; from < end; from += COPY_BYTES) {
        joined.set(block.subarray(from, Math.min(end, from + COPY_BYTES)), offset + from)
        await yieldToLoop()
      }
      offset += end
    }
    return joined
  }

  private grow(): Uint8Array {
    const last = this.blocks.at(-1)
    const block = unfilled(
      Math.min(last === undefined ? this.firstBytes : last.length * 2, this.maxBytes - this.length),
    )
    this.blocks.push(block)
    this.room = block.length
    return block
  }
}

/** Memory that the operating system allocates only when it is written. */
function unfilled(length: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
}
