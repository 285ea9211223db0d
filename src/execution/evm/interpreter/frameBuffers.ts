import type { Word } from './word.ts'

/** Yellow Paper section 9.1. */
export const MAX_STACK = 1024
/** Longer memory is not reused. */
const KEPT_MEMORY_BYTES = 4096
const MIN_MEMORY_BYTES = 1024

/** A frame's memory: the bytes that the program has reached, followed by zeros. */
export interface Memory {
  memory: Uint8Array<ArrayBuffer>
  view: DataView<ArrayBuffer>
}

const idle: FrameBuffers[] = []

/** Stack and memory of one frame. Later frames reuse them, whichever EVM runs them. */
export class FrameBuffers {
  /** Its length is fixed. */
  readonly stack: Word[] = new Array<Word>(MAX_STACK).fill(0)
  private kept: Memory | undefined

  static take(): FrameBuffers {
    return idle.pop() ?? new FrameBuffers()
  }

  /** Memory of at least `size` bytes, all zero, for one frame. */
  takeMemory(size: number): Memory {
    const { kept } = this
    if (kept !== undefined && kept.memory.length >= size) {
      this.kept = undefined
      return kept
    }
    const memory = new Uint8Array(Math.max(MIN_MEMORY_BYTES, size))
    return { memory, view: new DataView(memory.buffer) }
  }

  /** Takes back the memory of a frame that has ended. An aborted frame does not release its buffers. */
  release({ memory, view, memorySize }: Memory & { memorySize: number }): void {
    idle.push(this)
    if (memory.length === 0 || memory.length > KEPT_MEMORY_BYTES) return
    memory.fill(0, 0, memorySize)
    this.kept = { memory, view }
  }
}
