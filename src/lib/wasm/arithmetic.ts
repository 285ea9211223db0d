import { compile, type Instance, instantiate } from './instance.ts'
import { PRECOMPILES } from './precompiles.generated.ts'

/** Exports of assembly/precompiles. Addresses and lengths are in bytes; `n` counts limbs of 4 bytes. */
interface ArithmeticExports {
  memory: WebAssembly.Memory
  freeMemory(): number
  mix(work: number, message: number, first: number, count: number): void
  /** With the modulus 0: products modulo 2^(32 n). */
  multiply(target: number, a: number, b: number, modulus: number, inverse: number, n: number): void
  power(
    result: number,
    spare: number,
    table: number,
    exponent: number,
    count: number,
    modulus: number,
    inverse: number,
    n: number,
  ): void
}

export type Arithmetic = Instance<ArithmeticExports>

const MAX_IDLE = 4

let module: WebAssembly.Module | undefined
const idle: Arithmetic[] = []

/**
 * Borrows an instance of the module with its own memory. No other caller uses the instance until it is returned. An
 * instance that is not returned is garbage collected.
 */
export function borrowArithmetic(): Arithmetic {
  return idle.pop() ?? create()
}

export function returnArithmetic(arithmetic: Arithmetic): void {
  if (idle.length < MAX_IDLE) idle.push(arithmetic)
}

function create(): Arithmetic {
  module ??= compile(PRECOMPILES)
  if (module === undefined) throw new Error('WebAssembly is not available')
  return instantiate<ArithmeticExports>(module)
}
