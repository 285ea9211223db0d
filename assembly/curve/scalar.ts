import { invert } from './inverse'
import { LIMB_BITS, LIMBS, MASK, NUMBER_BYTES, subtractIfNotBelow } from './limbs'

// Arithmetic modulo n, the order of the group of secp256k1 (SEC 2, section 2.4.1).

const ORDER: u32 = <u32>(
  memory.data<i32>([
    0x10364141, 0x1e92f466, 0x12280eef, 0x1db9cd5e, 0x1fffebaa, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0xffffff,
  ])
)
/** 1 / n (mod 2^29) */
const LOW_INVERSE: i64 = 0x0a774ec1
/** 2^522 (mod n) */
const MONTGOMERY_SQUARE: u32 = <u32>(
  memory.data<i32>([
    0x09f6ab4b, 0x1f300d1e, 0x1c0bd5d8, 0x0c8ada8c, 0x11cefa2b, 0x08b79a0f, 0x1e697f5e, 0x00e34de2, 0x9c7356,
  ])
)
const SUMS: u32 = <u32>memory.data(80, 16)

/** target = 2^261 / scalar (mod n), ready for `multiplyReduced`. The scalar is neither 0 nor above n. */
export function invertScalar(target: u32, scalar: u32): void {
  invert(target, scalar, ORDER, <i32>LOW_INVERSE)
  multiplyReduced(target, target, MONTGOMERY_SQUARE)
}

/** target = a b / 2^261 (mod n), by Montgomery's method; below n. a and b are below 2^256. */
export function multiplyReduced(target: u32, a: u32, b: u32): void {
  memory.fill(SUMS, 0, 80)
  for (let i: u32 = 0; i < LIMBS; i++) {
    const factor = <i64>load<i32>(a + i * 4)
    const first = load<i64>(SUMS) + factor * <i64>load<i32>(b)
    const multiple = (-first * LOW_INVERSE) & MASK
    let c = (first + multiple * <i64>load<i32>(ORDER)) >> LIMB_BITS
    for (let j: u32 = 1; j < LIMBS; j++) {
      c += load<i64>(SUMS + j * 8) + factor * <i64>load<i32>(b + j * 4) + multiple * <i64>load<i32>(ORDER + j * 4)
      store<i64>(SUMS + j * 8 - 8, c & MASK)
      c >>= LIMB_BITS
    }
    store<i64>(SUMS + 64, c)
  }
  for (let i: u32 = 0; i < LIMBS; i++) store<i32>(target + i * 4, <i32>load<i64>(SUMS + i * 8))
  subtractIfNotBelow(target, ORDER)
}

/** Digits of a scalar. */
export const DIGITS: u32 = 32

/**
 * Writes a scalar's digits, a byte each, the lowest first, where byte v stands for the odd digit 2 v - 255 of the base
 * 256: no digit is 0, which spares a case. Only odd numbers have such digits; true when those of n - scalar are written.
 */
export function toDigits(target: u32, scalar: u32): bool {
  const isEven = (load<u32>(scalar) & 1) === 0
  // Of u, the bytes of (u + 255 (1 + 256 + ... + 256^31)) / 2 = (u - 1) / 2 + 2^255; of -u, their complement.
  if (isEven) negate(scalar)
  let bits: u64 = 0
  let left: u32 = 0
  let from: u32 = scalar
  for (let i: u32 = 0; i < DIGITS; i++) {
    // One bit more than the byte: the lowest of all is not wanted.
    if (left < 9 && from < scalar + NUMBER_BYTES) {
      bits |= (<u64>load<u32>(from)) << left
      left += <u32>LIMB_BITS
      from += 4
    }
    store<u8>(target + i, (bits >> 1) & 255)
    bits >>= 8
    left -= 8
  }
  store<u8>(target + DIGITS - 1, load<u8>(target + DIGITS - 1) | 0x80)
  return isEven
}

/** scalar = n - scalar */
function negate(scalar: u32): void {
  let c: i64 = 0
  for (let at: u32 = 0; at < NUMBER_BYTES; at += 4) {
    c += <i64>load<i32>(ORDER + at) - <i64>load<i32>(scalar + at)
    store<i32>(scalar + at, <i32>(c & MASK))
    c >>= LIMB_BITS
  }
}
