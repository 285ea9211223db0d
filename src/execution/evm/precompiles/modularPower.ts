import { bigIntToBytes, bytesToBigInt } from '../../../lib/bytes.ts'
import { type Arithmetic, borrowArithmetic, returnArithmetic } from '../../../lib/wasm/arithmetic.ts'

/** A big-endian exponent of `bytes` bytes. Missing digits at the end are zero. */
export interface Exponent {
  digits: Uint8Array
  bytes: number
}

type Power = Generator<undefined, bigint, undefined>

/** Longer moduli are as fast with bigint. */
const MAX_LIMBS = 64
/** Shorter exponents need no table of powers. */
const SHORT_BYTES = 3
/** Work between two yields to the event loop. */
const STEP_NS = 2_000_000
/** Most bytes of the exponent in one step. */
const MAX_STEP_BYTES = 4096
const LIMB_BITS = 32n
const LIMB_MASK = 0xffff_ffffn

/** base^exponent modulo a positive number, in steps of a few milliseconds. The base must be below the modulus. */
export function* modularPower(base: bigint, exponent: Exponent, modulus: bigint): Power {
  const { digits, bytes } = withoutZeros(exponent)
  if (bytes === 0) return 1n % modulus
  if (base < 2n) return base % modulus
  if (bytes <= SHORT_BYTES) return shortPower(base, digits, bytes, modulus)
  if (modulus >> (LIMB_BITS * BigInt(MAX_LIMBS)) > 0n) return yield* powerOfIntegers(base, { digits, bytes }, modulus)
  const shift = trailingZeros(modulus)
  const odd = modulus >> shift
  const oddPower = odd === 1n ? 0n : yield* powerModuloOdd(base % odd, { digits, bytes }, odd)
  if (shift === 0n) return oddPower
  const mask = (1n << shift) - 1n
  const lowPower = yield* powerModuloTwos(base & mask, { digits, bytes }, shift)
  // Chinese remainder theorem: oddPower + odd k, with k such that the low bits match.
  const k = ((lowPower - oddPower) * inverseModuloTwos(odd, shift)) & mask
  return oddPower + odd * k
}

function shortPower(base: bigint, digits: Uint8Array, bytes: number, modulus: bigint): bigint {
  let result = 1n
  for (let index = 0; index < bytes; index++) {
    for (let bit = 7; bit >= 0; bit--) {
      if (result !== 1n) result = (result * result) % modulus
      if ((((digits[index] ?? 0) >> bit) & 1) === 1) result = (result * base) % modulus
    }
  }
  return result % modulus
}

function* powerModuloOdd(base: bigint, exponent: Exponent, modulus: bigint): Power {
  // Two limbs have the fastest code.
  const n = Math.max(2, limbsOf(modulus))
  const radix = 1n << (LIMB_BITS * BigInt(n))
  const inverse = Number((radix - inverseModuloTwos(modulus, LIMB_BITS)) & LIMB_MASK)
  return yield* powerOfLimbs({ one: radix % modulus, base: (base * radix) % modulus, n }, exponent, {
    modulus,
    inverse,
  })
}

/** Modulo 2^bits. */
function* powerModuloTwos(base: bigint, exponent: Exponent, bits: bigint): Power {
  const n = Math.max(2, Number((bits + LIMB_BITS - 1n) / LIMB_BITS))
  return (yield* powerOfLimbs({ one: 1n, base, n }, exponent)) & ((1n << bits) - 1n)
}

/**
 * A power in the compiled arithmetic. `one` and `base` have `n` limbs, in Montgomery's form if there is a modulus; without
 * it, products are modulo 2^(32 n).
 */
function* powerOfLimbs(
  { one, base, n }: { one: bigint; base: bigint; n: number },
  exponent: Exponent,
  odd?: { modulus: bigint; inverse: number },
): Power {
  const arithmetic = borrowArithmetic()
  const layout = layoutOf(arithmetic, n)
  const { memory, result, spare, table, digits } = layout
  const entry = (index: number) => table + index * layout.size
  const modulus = odd === undefined ? 0 : layout.modulus
  const inverse = odd?.inverse ?? 0
  if (odd !== undefined) write(memory, modulus, odd.modulus, n)
  write(memory, entry(0), one, n)
  write(memory, entry(1), base, n)
  for (let index = 2; index < 16; index++) {
    arithmetic.multiply(entry(index), entry(index - 1), entry(1), modulus, inverse, n)
  }
  write(memory, result, one, n)
  const productNs = (odd === undefined ? 1 : 2) * n * n + 12
  yield* overDigits(exponent, layout, productNs, (count) =>
    arithmetic.power(result, spare, table, digits, count, modulus, inverse, n),
  )
  // A product with 1 removes the Montgomery radix.
  write(memory, entry(0), 1n, n)
  arithmetic.multiply(spare, result, entry(0), modulus, inverse, n)
  const power = read(memory, spare, n)
  returnArithmetic(arithmetic)
  return power
}

function* powerOfIntegers(base: bigint, { digits, bytes }: Exponent, modulus: bigint): Power {
  const powers = [1n, base]
  for (let index = 2; index < 16; index++) powers.push(((powers[index - 1] ?? 1n) * base) % modulus)
  const limbs = limbsOf(modulus)
  const bytesPerStep = Math.max(1, Math.floor(STEP_NS / (10 * (limbs * limbs) + 1000)))
  let result = 1n
  for (let index = 0; index < bytes; index++) {
    if (index > 0 && index % bytesPerStep === 0) yield
    const byte = digits[index] ?? 0
    for (const digit of [byte >> 4, byte & 15]) {
      for (let square = 0; square < 4; square++) result = (result * result) % modulus
      if (digit > 0) result = (result * (powers[digit] ?? 1n)) % modulus
    }
  }
  return result
}

interface Layout {
  memory: Uint8Array
  /** Bytes from one number to the next. */
  size: number
  modulus: number
  result: number
  spare: number
  table: number
  digits: number
}

function layoutOf(arithmetic: Arithmetic, n: number): Layout {
  const size = (n + 1) * 4
  const memory = arithmetic.reserve(19 * size + MAX_STEP_BYTES)
  const at = (index: number) => arithmetic.base + index * size
  return { memory, size, modulus: at(0), result: at(1), spare: at(2), table: at(3), digits: at(19) }
}

/** Passes the exponent on in parts, sized by the time of a product. */
function* overDigits(
  { digits, bytes }: Exponent,
  layout: Layout,
  productNs: number,
  run: (count: number) => void,
): Generator<undefined, void, undefined> {
  const atOnce = Math.min(MAX_STEP_BYTES, Math.max(1, Math.floor(STEP_NS / (10 * productNs))))
  for (let from = 0; from < bytes; from += atOnce) {
    if (from > 0) yield
    const count = Math.min(atOnce, bytes - from)
    const part = digits.subarray(from, from + count)
    layout.memory.set(part, layout.digits)
    layout.memory.fill(0, layout.digits + part.length, layout.digits + count)
    run(count)
  }
}

/** Removes leading zeros. An exponent of zeros becomes empty. */
function withoutZeros({ digits, bytes }: Exponent): Exponent {
  const first = digits.findIndex((byte) => byte !== 0)
  return first < 0 ? { digits, bytes: 0 } : { digits: digits.subarray(first), bytes: bytes - first }
}

function limbsOf(value: bigint): number {
  return Math.ceil(value.toString(16).length / 8)
}

function trailingZeros(value: bigint): bigint {
  return BigInt((value & -value).toString(2).length - 1)
}

/** 1 / odd modulo 2^bits, by Newton's iteration. */
function inverseModuloTwos(odd: bigint, bits: bigint): bigint {
  let inverse = 1n
  for (let known = 1n; known < bits; known *= 2n) {
    inverse = BigInt.asUintN(Number(known * 2n), inverse * (2n - odd * inverse))
  }
  return BigInt.asUintN(Number(bits), inverse)
}

function write(memory: Uint8Array, at: number, value: bigint, n: number): void {
  memory.set(bigIntToBytes(value, n * 4).reverse(), at)
  memory.fill(0, at + n * 4, at + n * 4 + 4)
}

function read(memory: Uint8Array, at: number, n: number): bigint {
  return bytesToBigInt(memory.slice(at, at + n * 4).reverse())
}
