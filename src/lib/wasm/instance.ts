/** Compiles a base64 module. Returns undefined if the processor cannot run it. */
export function compile(base64: string): WebAssembly.Module | undefined {
  try {
    return new WebAssembly.Module(new Uint8Array(Buffer.from(base64, 'base64')))
  } catch {
    return undefined
  }
}

/** The exports that all modules of assembly/ share. */
interface MemoryExports {
  memory: WebAssembly.Memory
  /** The end of the module's own memory, a multiple of 16. */
  freeMemory(): number
}

/** A module's exports, and access to its memory. */
export type Instance<T extends MemoryExports> = T & {
  /** The first address that the caller may write, a multiple of 16. */
  readonly base: number
  /**
   * Grows the memory so that it has at least `bytes` bytes from `base` on, and returns it. Older views may become
   * invalid.
   */
  reserve(bytes: number): Uint8Array
}

const PAGE_BYTES = 65_536

/** `T` describes the exports of the module. A test compares `T` with the module's source. */
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
