import { createCompiled } from './compiled.ts'
import { type Instance, instantiate } from './instance.ts'
import { KERNEL } from './kernel.generated.ts'

/** What assembly/kernel exports; addresses and lengths are in bytes. */
interface KernelExports {
  memory: WebAssembly.Memory
  freeMemory(): number
  hashOne(input: number, length: number, hash: number): void
  hashMany(inputs: number, lengths: number, count: number, hashes: number): void
}

export type Kernel = Instance<KernelExports>

/** Bytes of a hash. */
export const HASH_BYTES = 32
/** Bytes that one step of Keccak-256 takes in. */
export const RATE = 136

const compiled = createCompiled(KERNEL)

/** An instance with a memory of its own. Undefined where the processor has no 128-bit vectors: callers use `hash-wasm` then. */
export function createKernel(): Kernel | undefined {
  const module = compiled()
  return module && instantiate<KernelExports>(module)
}
