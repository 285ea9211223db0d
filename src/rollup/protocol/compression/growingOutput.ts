import { takeTurn } from '../../../lib/turns.ts'

/** Copied without a turn of the event loop between. */
const COPY_BYTES = 1024 * 1024

/**
 * Takes in pieces of unknown number. They are copied at once, so that their memory is free again while it is small: thousands of
 * them that were kept to the end cost a long turn of the event loop when they are freed.
 */
export class GrowingOutput {
  length = 0
  private readonly maxBytes: number
  /** Each twice as large as the one before; all but the last are full. */
  private readonly blocks: Uint8Array[] = []
  private readonly firstBytes: number
  private room = 0

  /** What passes `maxBytes` is left out. */
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
        await takeTurn()
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

/** Memory that costs nothing until it is written. */
function unfilled(length: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
}
