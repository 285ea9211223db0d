import { compile, type Instance, instantiate } from './instance.ts'
import { KERNEL } from './kernel.generated.ts'

/** Exports of assembly/kernel. Addresses and lengths are in bytes. */
interface KernelExports {
  memory: WebAssembly.Memory
  freeMemory(): number
  hashMany(inputs: number, lengths: number, count: number, hashes: number): void
}

export type Kernel = Instance<KernelExports>

export const HASH_BYTES = 32
/** Bytes that Keccak-256 absorbs in one step. */
export const RATE = 136

const module = compile(KERNEL)

/**
 * Creates an instance with its own memory. Returns undefined if the processor has no 128-bit vectors; callers then use
 * `hash-wasm`.
 */
export function createKernel(): Kernel | undefined {
  return module && instantiate<KernelExports>(module)
}
