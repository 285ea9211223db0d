import { createCompiled } from './compiled.ts'
import { PRECOMPILES } from './precompiles.generated.ts'

/** What assembly/precompiles exports; addresses and lengths are in bytes, `n` in limbs of 4. */
interface ArithmeticExports {
  memory: WebAssembly.Memory
  freeMemory(): number
  mix(work: number, message: number, first: number, count: number): void
  multiplyMontgomery(target: number, a: number, b: number, modulus: number, inverse: number, n: number): void
  multiplyLow(target: number, a: number, b: number, n: number): void
  powerMontgomery(
    result: number,
    spare: number,
    table: number,
    exponent: number,
    count: number,
    modulus: number,
    inverse: number,
    n: number,
  ): void
  powerLow(result: number, spare: number, table: number, exponent: number, count: number, n: number): void
}

export interface Arithmetic extends ArithmeticExports {
  /** Where the caller may write, on a multiple of 16. */
  readonly base: number
  /** The memory, in which there is room for `bytes` from `base` on; older views may be dead after this. */
  reserve(bytes: number): Uint8Array
}

const PAGE_BYTES = 65_536
/** Instances that are kept for later. */
const MAX_IDLE = 4

const compiled = createCompiled(PRECOMPILES)
const idle: Arithmetic[] = []

/**
 * An instance of the module, with a memory of its own that nobody else touches until it is given back. What is not given
 * back is collected.
 */
export function borrowArithmetic(): Arithmetic {
  return idle.pop() ?? instantiate()
}

export function returnArithmetic(arithmetic: Arithmetic): void {
  if (idle.length < MAX_IDLE) idle.push(arithmetic)
}

function instantiate(): Arithmetic {
  const module = compiled()
  if (module === undefined) throw new Error('WebAssembly is not available')
  // The module is assembly/precompiles, compiled: a test holds it to its source, whose exports these are.
  const exports = new WebAssembly.Instance(module).exports as unknown as ArithmeticExports
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
