import { invert } from './inverse'
import { LIMB_BITS, MASK, NUMBER_BYTES, subtractIfNotBelow } from './limbs'

// Arithmetic modulo p = 2^256 - 2^32 - 977, the prime of secp256k1 (SEC 2, section 2.4.1).
//
// An element has the limbs of a number, but signed ones. A product's lie between 0 and 2^29, but that the lowest three may
// be a little outside, and the highest has 24 bits. What is multiplied may be a product or the difference of two: more
// would overflow the sums.

/** 2^261 = 2^37 + FOLD (mod p). */
const FOLD: i64 = 31264

/** target = a b */
export function multiply(target: u32, a: u32, b: u32): void {
  const a0 = <i64>load<i32>(a)
  const a1 = <i64>load<i32>(a, 4)
  const a2 = <i64>load<i32>(a, 8)
  const a3 = <i64>load<i32>(a, 12)
  const a4 = <i64>load<i32>(a, 16)
  const a5 = <i64>load<i32>(a, 20)
  const a6 = <i64>load<i32>(a, 24)
  const a7 = <i64>load<i32>(a, 28)
  const a8 = <i64>load<i32>(a, 32)
  const b0 = <i64>load<i32>(b)
  const b1 = <i64>load<i32>(b, 4)
  const b2 = <i64>load<i32>(b, 8)
  const b3 = <i64>load<i32>(b, 12)
  const b4 = <i64>load<i32>(b, 16)
  const b5 = <i64>load<i32>(b, 20)
  const b6 = <i64>load<i32>(b, 24)
  const b7 = <i64>load<i32>(b, 28)
  const b8 = <i64>load<i32>(b, 32)
  let c = a0 * b0
  const t0 = c & MASK
  c = (c >> 29) + a0 * b1 + a1 * b0
  const t1 = c & MASK
  c = (c >> 29) + a0 * b2 + a1 * b1 + a2 * b0
  const t2 = c & MASK
  c = (c >> 29) + a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0
  const t3 = c & MASK
  c = (c >> 29) + a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0
  const t4 = c & MASK
  c = (c >> 29) + a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0
  const t5 = c & MASK
  c = (c >> 29) + a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0
  const t6 = c & MASK
  c = (c >> 29) + a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0
  const t7 = c & MASK
  c = (c >> 29) + a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0
  const t8 = c & MASK
  c = (c >> 29) + a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1
  const t9 = c & MASK
  c = (c >> 29) + a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2
  const t10 = c & MASK
  c = (c >> 29) + a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3
  const t11 = c & MASK
  c = (c >> 29) + a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4
  const t12 = c & MASK
  c = (c >> 29) + a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5
  const t13 = c & MASK
  c = (c >> 29) + a6 * b8 + a7 * b7 + a8 * b6
  const t14 = c & MASK
  c = (c >> 29) + a7 * b8 + a8 * b7
  const t15 = c & MASK
  c = (c >> 29) + a8 * b8
  const t16 = c & MASK
  const t17 = c >> 29
  reduce(target, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17)
}

/** target = a a */
export function square(target: u32, a: u32): void {
  const a0 = <i64>load<i32>(a)
  const a1 = <i64>load<i32>(a, 4)
  const a2 = <i64>load<i32>(a, 8)
  const a3 = <i64>load<i32>(a, 12)
  const a4 = <i64>load<i32>(a, 16)
  const a5 = <i64>load<i32>(a, 20)
  const a6 = <i64>load<i32>(a, 24)
  const a7 = <i64>load<i32>(a, 28)
  const a8 = <i64>load<i32>(a, 32)
  const d0 = a0 << 1
  const d1 = a1 << 1
  const d2 = a2 << 1
  const d3 = a3 << 1
  const d4 = a4 << 1
  const d5 = a5 << 1
  const d6 = a6 << 1
  const d7 = a7 << 1
  let c = a0 * a0
  const t0 = c & MASK
  c = (c >> 29) + d0 * a1
  const t1 = c & MASK
  c = (c >> 29) + d0 * a2 + a1 * a1
  const t2 = c & MASK
  c = (c >> 29) + d0 * a3 + d1 * a2
  const t3 = c & MASK
  c = (c >> 29) + d0 * a4 + d1 * a3 + a2 * a2
  const t4 = c & MASK
  c = (c >> 29) + d0 * a5 + d1 * a4 + d2 * a3
  const t5 = c & MASK
  c = (c >> 29) + d0 * a6 + d1 * a5 + d2 * a4 + a3 * a3
  const t6 = c & MASK
  c = (c >> 29) + d0 * a7 + d1 * a6 + d2 * a5 + d3 * a4
  const t7 = c & MASK
  c = (c >> 29) + d0 * a8 + d1 * a7 + d2 * a6 + d3 * a5 + a4 * a4
  const t8 = c & MASK
  c = (c >> 29) + d1 * a8 + d2 * a7 + d3 * a6 + d4 * a5
  const t9 = c & MASK
  c = (c >> 29) + d2 * a8 + d3 * a7 + d4 * a6 + a5 * a5
  const t10 = c & MASK
  c = (c >> 29) + d3 * a8 + d4 * a7 + d5 * a6
  const t11 = c & MASK
  c = (c >> 29) + d4 * a8 + d5 * a7 + a6 * a6
  const t12 = c & MASK
  c = (c >> 29) + d5 * a8 + d6 * a7
  const t13 = c & MASK
  c = (c >> 29) + d6 * a8 + a7 * a7
  const t14 = c & MASK
  c = (c >> 29) + d7 * a8
  const t15 = c & MASK
  c = (c >> 29) + a8 * a8
  const t16 = c & MASK
  const t17 = c >> 29
  reduce(target, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17)
}

/** target = a b - u v */
export function subtractProducts(target: u32, a: u32, b: u32, u: u32, v: u32): void {
  const a0 = <i64>load<i32>(a)
  const a1 = <i64>load<i32>(a, 4)
  const a2 = <i64>load<i32>(a, 8)
  const a3 = <i64>load<i32>(a, 12)
  const a4 = <i64>load<i32>(a, 16)
  const a5 = <i64>load<i32>(a, 20)
  const a6 = <i64>load<i32>(a, 24)
  const a7 = <i64>load<i32>(a, 28)
  const a8 = <i64>load<i32>(a, 32)
  const b0 = <i64>load<i32>(b)
  const b1 = <i64>load<i32>(b, 4)
  const b2 = <i64>load<i32>(b, 8)
  const b3 = <i64>load<i32>(b, 12)
  const b4 = <i64>load<i32>(b, 16)
  const b5 = <i64>load<i32>(b, 20)
  const b6 = <i64>load<i32>(b, 24)
  const b7 = <i64>load<i32>(b, 28)
  const b8 = <i64>load<i32>(b, 32)
  const u0 = <i64>load<i32>(u)
  const u1 = <i64>load<i32>(u, 4)
  const u2 = <i64>load<i32>(u, 8)
  const u3 = <i64>load<i32>(u, 12)
  const u4 = <i64>load<i32>(u, 16)
  const u5 = <i64>load<i32>(u, 20)
  const u6 = <i64>load<i32>(u, 24)
  const u7 = <i64>load<i32>(u, 28)
  const u8 = <i64>load<i32>(u, 32)
  const v0 = <i64>load<i32>(v)
  const v1 = <i64>load<i32>(v, 4)
  const v2 = <i64>load<i32>(v, 8)
  const v3 = <i64>load<i32>(v, 12)
  const v4 = <i64>load<i32>(v, 16)
  const v5 = <i64>load<i32>(v, 20)
  const v6 = <i64>load<i32>(v, 24)
  const v7 = <i64>load<i32>(v, 28)
  const v8 = <i64>load<i32>(v, 32)
  let c = a0 * b0 - u0 * v0
  const t0 = c & MASK
  c = (c >> 29) + a0 * b1 + a1 * b0 - (u0 * v1 + u1 * v0)
  const t1 = c & MASK
  c = (c >> 29) + a0 * b2 + a1 * b1 + a2 * b0 - (u0 * v2 + u1 * v1 + u2 * v0)
  const t2 = c & MASK
  c = (c >> 29) + a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0 - (u0 * v3 + u1 * v2 + u2 * v1 + u3 * v0)
  const t3 = c & MASK
  c = (c >> 29) + a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0 - (u0 * v4 + u1 * v3 + u2 * v2 + u3 * v1 + u4 * v0)
  const t4 = c & MASK
  c =
    (c >> 29) +
    a0 * b5 +
    a1 * b4 +
    a2 * b3 +
    a3 * b2 +
    a4 * b1 +
    a5 * b0 -
    (u0 * v5 + u1 * v4 + u2 * v3 + u3 * v2 + u4 * v1 + u5 * v0)
  const t5 = c & MASK
  c =
    (c >> 29) +
    a0 * b6 +
    a1 * b5 +
    a2 * b4 +
    a3 * b3 +
    a4 * b2 +
    a5 * b1 +
    a6 * b0 -
    (u0 * v6 + u1 * v5 + u2 * v4 + u3 * v3 + u4 * v2 + u5 * v1 + u6 * v0)
  const t6 = c & MASK
  c =
    (c >> 29) +
    a0 * b7 +
    a1 * b6 +
    a2 * b5 +
    a3 * b4 +
    a4 * b3 +
    a5 * b2 +
    a6 * b1 +
    a7 * b0 -
    (u0 * v7 + u1 * v6 + u2 * v5 + u3 * v4 + u4 * v3 + u5 * v2 + u6 * v1 + u7 * v0)
  const t7 = c & MASK
  c =
    (c >> 29) +
    a0 * b8 +
    a1 * b7 +
    a2 * b6 +
    a3 * b5 +
    a4 * b4 +
    a5 * b3 +
    a6 * b2 +
    a7 * b1 +
    a8 * b0 -
    (u0 * v8 + u1 * v7 + u2 * v6 + u3 * v5 + u4 * v4 + u5 * v3 + u6 * v2 + u7 * v1 + u8 * v0)
  const t8 = c & MASK
  c =
    (c >> 29) +
    a1 * b8 +
    a2 * b7 +
    a3 * b6 +
    a4 * b5 +
    a5 * b4 +
    a6 * b3 +
    a7 * b2 +
    a8 * b1 -
    (u1 * v8 + u2 * v7 + u3 * v6 + u4 * v5 + u5 * v4 + u6 * v3 + u7 * v2 + u8 * v1)
  const t9 = c & MASK
  c =
    (c >> 29) +
    a2 * b8 +
    a3 * b7 +
    a4 * b6 +
    a5 * b5 +
    a6 * b4 +
    a7 * b3 +
    a8 * b2 -
    (u2 * v8 + u3 * v7 + u4 * v6 + u5 * v5 + u6 * v4 + u7 * v3 + u8 * v2)
  const t10 = c & MASK
  c =
    (c >> 29) +
    a3 * b8 +
    a4 * b7 +
    a5 * b6 +
    a6 * b5 +
    a7 * b4 +
    a8 * b3 -
    (u3 * v8 + u4 * v7 + u5 * v6 + u6 * v5 + u7 * v4 + u8 * v3)
  const t11 = c & MASK
  c = (c >> 29) + a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4 - (u4 * v8 + u5 * v7 + u6 * v6 + u7 * v5 + u8 * v4)
  const t12 = c & MASK
  c = (c >> 29) + a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5 - (u5 * v8 + u6 * v7 + u7 * v6 + u8 * v5)
  const t13 = c & MASK
  c = (c >> 29) + a6 * b8 + a7 * b7 + a8 * b6 - (u6 * v8 + u7 * v7 + u8 * v6)
  const t14 = c & MASK
  c = (c >> 29) + a7 * b8 + a8 * b7 - (u7 * v8 + u8 * v7)
  const t15 = c & MASK
  c = (c >> 29) + a8 * b8 - u8 * v8
  const t16 = c & MASK
  const t17 = c >> 29
  reduce(target, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17)
}

/** Writes to target the sum of the limbs t0 to t17, of which only the last may be outside 0 to 2^29. */
function reduce(
  target: u32,
  t0: i64,
  t1: i64,
  t2: i64,
  t3: i64,
  t4: i64,
  t5: i64,
  t6: i64,
  t7: i64,
  t8: i64,
  t9: i64,
  t10: i64,
  t11: i64,
  t12: i64,
  t13: i64,
  t14: i64,
  t15: i64,
  t16: i64,
  t17: i64,
): void {
  let c = t0 + t9 * FOLD
  let r0 = c & MASK
  c = (c >> 29) + t1 + t10 * FOLD + (t9 << 8)
  let r1 = c & MASK
  c = (c >> 29) + t2 + t11 * FOLD + (t10 << 8)
  let r2 = c & MASK
  c = (c >> 29) + t3 + t12 * FOLD + (t11 << 8)
  const r3 = c & MASK
  c = (c >> 29) + t4 + t13 * FOLD + (t12 << 8)
  const r4 = c & MASK
  c = (c >> 29) + t5 + t14 * FOLD + (t13 << 8)
  const r5 = c & MASK
  c = (c >> 29) + t6 + t15 * FOLD + (t14 << 8)
  const r6 = c & MASK
  c = (c >> 29) + t7 + t16 * FOLD + (t15 << 8)
  const r7 = c & MASK
  c = (c >> 29) + t8 + t17 * FOLD + (t16 << 8)
  // Bits from 2^256 on: 2^256 = 2^32 + 977 (mod p).
  const high = (c >> 24) + (t17 << 13)
  const r8 = c & 0xffffff
  c = r0 + high * 977
  r0 = c & MASK
  c = (c >> 29) + r1 + (high << 3)
  r1 = c & MASK
  r2 += c >> 29
  store<i32>(target, <i32>r0)
  store<i32>(target, <i32>r1, 4)
  store<i32>(target, <i32>r2, 8)
  store<i32>(target, <i32>r3, 12)
  store<i32>(target, <i32>r4, 16)
  store<i32>(target, <i32>r5, 20)
  store<i32>(target, <i32>r6, 24)
  store<i32>(target, <i32>r7, 28)
  store<i32>(target, <i32>r8, 32)
}

/** target = a - b, limb by limb. */
export function subtract(target: u32, a: u32, b: u32): void {
  for (let at: u32 = 0; at < NUMBER_BYTES; at += 4) store<i32>(target + at, load<i32>(a + at) - load<i32>(b + at))
}

/** target = a + b times the small number `factor`, with limbs as a product has them. */
export function addMultiple(target: u32, a: u32, b: u32, factor: i64): void {
  let c: i64 = 0
  for (let at: u32 = 0; at < NUMBER_BYTES - 4; at += 4) {
    c += <i64>load<i32>(a + at) + <i64>load<i32>(b + at) * factor
    store<i32>(target + at, <i32>(c & MASK))
    c >>= LIMB_BITS
  }
  c += <i64>load<i32>(a, 32) + <i64>load<i32>(b, 32) * factor
  foldTop(target, c)
}

/** Takes what the highest limb has from 2^256 on to the lowest two. */
function foldTop(target: u32, top: i64): void {
  const high = top >> 24
  store<i32>(target, <i32>(top & 0xffffff), 32)
  store<i32>(target, <i32>(<i64>load<i32>(target) + high * 977))
  store<i32>(target, <i32>(<i64>load<i32>(target, 4) + (high << 3)), 4)
}

const ZERO: u32 = <u32>memory.data(36, 16)
/** p, whose highest limb has 24 bits. */
export const PRIME: u32 = <u32>(
  memory.data<i32>([
    0x1ffffc2f, 0x1ffffff7, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0xffffff,
  ])
)

/** Brings a product or a difference to the one form that is at least 0 and below p. */
export function normalize(element: u32): void {
  // The first pass leaves what is hardly outside 0 to 2^256, the second what is inside, the third its limbs in order.
  for (let pass = 0; pass < 3; pass++) addMultiple(element, element, ZERO, 0)
  subtractIfNotBelow(element, PRIME)
}

/** target = 1 / element, which is not 0 and is normalized. */
export function invertElement(target: u32, element: u32): void {
  invert(target, element, PRIME, 0x0ddacacf)
}
