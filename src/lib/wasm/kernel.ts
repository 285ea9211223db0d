import { createCompiled } from './compiled.ts'
import { type Instance, instantiate } from './instance.ts'
import { KERNEL } from './kernel.generated.ts'

/** What assembly/kernel exports; addresses and lengths are in bytes. */
interface KernelExports {
  memory: WebAssembly.Memory
  freeMemory(): number
  uncompress(source: number, sourceLength: number, target: number, length: number): number
  countItems(list: number, length: number): number
  longestItem(list: number, length: number, items: number): number
  workBytes(items: number, longest: number): number
  beginTrie(list: number, length: number, items: number, work: number, longest: number): void
  beginBody(body: number, length: number): void
  runBody(): void
  runTrie(): void
  bodyHashAt(): number
  rootHashAt(): number
  hashOne(input: number, length: number, hash: number): void
  hashMany(inputs: number, lengths: number, count: number, hashes: number): void
}

export type Kernel = Instance<KernelExports>

/** Bytes of a hash. */
export const HASH_BYTES = 32
/** Room behind an input for the hash's padding. */
export const PADDING_BYTES = 160

/** An instance that has grown beyond is not kept: WebAssembly memory never shrinks. */
const KEPT_BYTES = 32 * 1024 * 1024

const kernelModule = createCompiled(KERNEL)

/**
 * Lends one instance of the module, with a memory of its own, whose content is good until the next call. Undefined where
 * the processor cannot run it: callers have a plain way too.
 */
export function createKernelLoan(): () => Kernel | undefined {
  let kernel: Kernel | undefined
  return () => {
    if (kernel !== undefined && kernel.memory.buffer.byteLength <= KEPT_BYTES) return kernel
    const module = kernelModule()
    kernel = module === undefined ? undefined : instantiate<KernelExports>(module)
    return kernel
  }
}
