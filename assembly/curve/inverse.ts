import { isZero, LIMB_BITS, LIMBS, MASK, NUMBER_BYTES } from './limbs'

// Inverse modulo a prime, by divsteps (Bernstein and Yang, "Fast constant-time gcd computation and modular inversion",
// 2019), as many at once as a limb has bits, and in a time that depends on the number: what is inverted here is public.

const F: u32 = <u32>memory.data(36, 16)
const G: u32 = <u32>memory.data(36, 16)
const D: u32 = <u32>memory.data(36, 16)
const E: u32 = <u32>memory.data(36, 16)

// The steps of one batch, as a matrix: 2^29 times the new (f, g) is (u f + v g, q f + r g).
let u: i64 = 0
let v: i64 = 0
let q: i64 = 0
let r: i64 = 0

/**
 * target = 1 / number (mod modulus), between 0 and the modulus. The number is neither 0 nor above the modulus, a prime;
 * `lowInverse` is the modulus's own inverse modulo 2^29.
 */
export function invert(target: u32, number: u32, modulus: u32, lowInverse: i32): void {
  memory.copy(F, modulus, NUMBER_BYTES)
  memory.copy(G, number, NUMBER_BYTES)
  memory.fill(D, 0, NUMBER_BYTES)
  memory.fill(E, 0, NUMBER_BYTES)
  store<i32>(E, 1)
  // d number = f and e number = g, but for powers of two, which the batches take out as they go.
  let eta: i32 = -1
  while (!isZero(G)) {
    eta = divsteps(eta, load<i32>(F) | (load<i32>(F, 4) << 29), load<i32>(G) | (load<i32>(G, 4) << 29))
    updateFactors(modulus, lowInverse)
    updateRemainders()
  }
  // f is 1 or -1 now, so that d or -d is the inverse; d lies between -2 moduli and one.
  const sign: i64 = load<i32>(F, 32) < 0 ? -1 : 1
  addToD(modulus, load<i32>(D, 32) < 0 ? 1 : 0, 1)
  addToD(modulus, 0, sign)
  addToD(modulus, load<i32>(D, 32) < 0 ? 1 : 0, 1)
  memory.copy(target, D, NUMBER_BYTES)
}

/** Runs 29 steps on the low bits of f, which is odd, and g, and leaves their matrix in u, v, q, r. Returns the new eta. */
function divsteps(eta: i32, f: i32, g: i32): i32 {
  let left: i32 = <i32>LIMB_BITS
  let a: i32 = 1
  let b: i32 = 0
  let c: i32 = 0
  let d: i32 = 1
  while (true) {
    // The bit above those left stops the count.
    const zeros = ctz(g | (-1 << left))
    g >>= zeros
    a <<= zeros
    b <<= zeros
    eta -= zeros
    left -= zeros
    if (left === 0) break
    if (eta < 0) {
      eta = -eta
      const f0 = f
      f = g
      g = -f0
      const a0 = a
      a = c
      c = -a0
      const b0 = b
      b = d
      d = -b0
    }
    // As many low bits of g are cancelled at once as may be before f and g change places, six at most: modulo 64,
    // f (f^2 - 2) is -1 / f.
    const bits = min(min(eta + 1, left), 6)
    const w = (g * f * (f * f - 2)) & ((1 << bits) - 1)
    g += f * w
    c += a * w
    d += b * w
  }
  u = a
  v = b
  q = c
  r = d
  return eta
}

/** (f, g) = matrix (f, g) / 2^29, which leaves no rest. */
function updateRemainders(): void {
  let f = <i64>load<i32>(F)
  let g = <i64>load<i32>(G)
  let cf = (u * f + v * g) >> LIMB_BITS
  let cg = (q * f + r * g) >> LIMB_BITS
  for (let at: u32 = 4; at < NUMBER_BYTES; at += 4) {
    f = <i64>load<i32>(F + at)
    g = <i64>load<i32>(G + at)
    cf += u * f + v * g
    cg += q * f + r * g
    store<i32>(F + at - 4, <i32>(cf & MASK))
    store<i32>(G + at - 4, <i32>(cg & MASK))
    cf >>= LIMB_BITS
    cg >>= LIMB_BITS
  }
  store<i32>(F, <i32>cf, 32)
  store<i32>(G, <i32>cg, 32)
}

/** (d, e) = matrix (d, e) / 2^29 modulo the modulus; both stay above -2 moduli and below one. */
function updateFactors(modulus: u32, lowInverse: i32): void {
  let d = <i64>load<i32>(D)
  let e = <i64>load<i32>(E)
  const dIsNegative = <i64>(load<i32>(D, 32) >> 31)
  const eIsNegative = <i64>(load<i32>(E, 32) >> 31)
  // How often the modulus is added: once for what is negative, and so often that 29 low bits vanish.
  let md = (u & dIsNegative) + (v & eIsNegative)
  let me = (q & dIsNegative) + (r & eIsNegative)
  let cd = u * d + v * e
  let ce = q * d + r * e
  md -= (<i64>lowInverse * (cd & MASK) + md) & MASK
  me -= (<i64>lowInverse * (ce & MASK) + me) & MASK
  const m = <i64>load<i32>(modulus)
  cd = (cd + m * md) >> LIMB_BITS
  ce = (ce + m * me) >> LIMB_BITS
  for (let at: u32 = 4; at < NUMBER_BYTES; at += 4) {
    d = <i64>load<i32>(D + at)
    e = <i64>load<i32>(E + at)
    const m = <i64>load<i32>(modulus + at)
    cd += u * d + v * e + m * md
    ce += q * d + r * e + m * me
    store<i32>(D + at - 4, <i32>(cd & MASK))
    store<i32>(E + at - 4, <i32>(ce & MASK))
    cd >>= LIMB_BITS
    ce >>= LIMB_BITS
  }
  store<i32>(D, <i32>cd, 32)
  store<i32>(E, <i32>ce, 32)
}

/** d = (d + times modulus) sign */
function addToD(modulus: u32, times: i64, sign: i64): void {
  let c: i64 = 0
  for (let i: u32 = 0; i < LIMBS; i++) {
    c += (<i64>load<i32>(D + i * 4) + <i64>load<i32>(modulus + i * 4) * times) * sign
    store<i32>(D + i * 4, i === LIMBS - 1 ? <i32>c : <i32>(c & MASK))
    c >>= LIMB_BITS
  }
}
