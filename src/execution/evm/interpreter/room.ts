import type { Word } from './word.ts'

/** Yellow Paper section 9.1. */
export const MAX_STACK = 1024
/** Longer memory is not kept from frame to frame. */
const KEPT_MEMORY_BYTES = 4096
const MIN_MEMORY_BYTES = 1024

/** A frame's memory: the bytes that the program has reached, and zeros behind them. */
export interface Memory {
  memory: Uint8Array<ArrayBuffer>
  view: DataView<ArrayBuffer>
}

/** What a frame works in, and after it the next one at its depth: memory is made once, not for each call. */
export class Room {
  /** Fixed in length. */
  readonly stack: Word[] = new Array<Word>(MAX_STACK).fill(0)
  private kept: Memory | undefined

  /** So many bytes or more, all zero, and nobody else's. */
  takeMemory(size: number): Memory {
    const { kept } = this
    if (kept !== undefined && kept.memory.length >= size) {
      this.kept = undefined
      return kept
    }
    const memory = new Uint8Array(Math.max(MIN_MEMORY_BYTES, size))
    return { memory, view: new DataView(memory.buffer) }
  }

  /** Of a frame that has ended, whose program has reached so many bytes. Of one that was given up nothing comes back. */
  giveBack({ memory, view, memorySize }: Memory & { memorySize: number }): void {
    if (memory.length === 0 || memory.length > KEPT_MEMORY_BYTES) return
    memory.fill(0, 0, memorySize)
    this.kept = { memory, view }
  }
}
