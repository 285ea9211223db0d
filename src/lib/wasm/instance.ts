/** What every module of assembly/ exports. */
interface MemoryExports {
  memory: WebAssembly.Memory
  /** Where the module's own memory ends, on a multiple of 16. */
  freeMemory(): number
}

/** A module's exports, with its memory. */
export type Instance<T extends MemoryExports> = T & {
  /** Where the caller may write, on a multiple of 16. */
  readonly base: number
  /** The memory, in which there is room for `bytes` from `base` on; older views may be dead after this. */
  reserve(bytes: number): Uint8Array
}

const PAGE_BYTES = 65_536

/** `T`: what the module exports, to which a test holds its source. */
export function instantiate<T extends MemoryExports>(module: WebAssembly.Module): Instance<T> {
  const exports = new WebAssembly.Instance(module).exports as unknown as T
  const { memory } = exports
  const base = exports.freeMemory()
  let bytesOfMemory = new Uint8Array(memory.buffer)
  return {
    ...exports,
    base,
    reserve(bytes) {
      const missing = base + bytes - bytesOfMemory.length
      if (missing > 0) {
        memory.grow(Math.ceil(missing / PAGE_BYTES))
        bytesOfMemory = new Uint8Array(memory.buffer)
      }
      return bytesOfMemory
    },
  }
}
