// Powers of numbers of any length, in limbs of 32 bits from the lowest on: modulo an odd number by Montgomery's products
// (C. K. Koc and others, "Analyzing and Comparing Montgomery Multiplication Algorithms", 1996: FIOS), and modulo a power
// of two by products that leave out what is above. Addresses are of 4 bytes a limb.

const LOW: u64 = 0xffff_ffff
/** Bytes from one number of two limbs to the next. */
const TWO_LIMBS_SIZE: u32 = 12

/**
 * target = a b / 2^(32 n), modulo the odd number at `modulus`, below which a and b are. `inverse` is -1 / modulus modulo
 * 2^32. If `modulus` is 0: target = a b modulo 2^(32 n). The target has room for n + 1 limbs, and is neither a nor b.
 */
export function multiply(target: u32, a: u32, b: u32, modulus: u32, inverse: u32, n: u32): void {
  if (n === 2) store<u64>(target, productOfTwoLimbs(load<u64>(a), load<u64>(b), twoLimbsAt(modulus), inverse))
  else if (modulus === 0) multiplyLow(target, a, b, n)
  else multiplyMontgomery(target, a, b, modulus, inverse, n)
}

function multiplyMontgomery(target: u32, a: u32, b: u32, modulus: u32, inverse: u32, n: u32): void {
  const bytes = n << 2
  memory.fill(target, 0, bytes + 4)
  const m0 = <u64>load<u32>(modulus)
  const b0 = <u64>load<u32>(b)
  for (let i: u32 = 0; i < bytes; i += 4) {
    const ai = <u64>load<u32>(a + i)
    let sum = <u64>load<u32>(target) + ai * b0
    const u = <u64>(<u32>sum * inverse)
    let reduced = (sum & LOW) + u * m0
    let carry = sum >> 32
    let carryReduced = reduced >> 32
    for (let j: u32 = 4; j < bytes; j += 4) {
      sum = <u64>load<u32>(target + j) + ai * <u64>load<u32>(b + j) + carry
      carry = sum >> 32
      reduced = (sum & LOW) + u * <u64>load<u32>(modulus + j) + carryReduced
      carryReduced = reduced >> 32
      store<u32>(target + j - 4, <u32>reduced)
    }
    sum = <u64>load<u32>(target + bytes) + carry + carryReduced
    store<u32>(target + bytes - 4, <u32>sum)
    store<u32>(target + bytes, <u32>(sum >> 32))
  }
  if (load<u32>(target + bytes) !== 0 || !isBelow(target, modulus, bytes)) subtract(target, modulus, bytes)
}

function isBelow(a: u32, b: u32, bytes: u32): bool {
  for (let i = bytes; i > 0; i -= 4) {
    const left = load<u32>(a + i - 4)
    const right = load<u32>(b + i - 4)
    if (left !== right) return left < right
  }
  return false
}

function subtract(a: u32, b: u32, bytes: u32): void {
  let borrow: i64 = 0
  for (let i: u32 = 0; i < bytes; i += 4) {
    borrow += <i64>load<u32>(a + i) - <i64>load<u32>(b + i)
    store<u32>(a + i, <u32>borrow)
    borrow >>= 32
  }
}

/** Two limbs, or 0 if there is no number. */
function twoLimbsAt(address: u32): u64 {
  return address === 0 ? 0 : load<u64>(address)
}

/** The same for two limbs, which cost the least gas for a product. */
function productOfTwoLimbs(a: u64, b: u64, m: u64, inverse: u32): u64 {
  if (m === 0) return a * b
  const b0 = b & LOW
  const b1 = b >> 32
  const m0 = m & LOW
  const m1 = m >> 32
  const a0 = a & LOW
  let low = a0 * b0
  let high = a0 * b1 + (low >> 32)
  let u = <u64>(<u32>low * inverse)
  let carry = ((low & LOW) + u * m0) >> 32
  let t0 = (high & LOW) + u * m1 + carry
  const t1 = (high >> 32) + (t0 >> 32)
  t0 &= LOW
  const a1 = a >> 32
  low = t0 + a1 * b0
  high = (t1 & LOW) + a1 * b1 + (low >> 32)
  u = <u64>(<u32>low * inverse)
  carry = ((low & LOW) + u * m0) >> 32
  t0 = (high & LOW) + u * m1 + carry
  const t2 = (t1 >> 32) + (high >> 32) + (t0 >> 32)
  const result = (t0 & LOW) | (t2 << 32)
  return t2 >> 32 !== 0 || result >= m ? result - m : result
}

function multiplyLow(target: u32, a: u32, b: u32, n: u32): void {
  const bytes = n << 2
  memory.fill(target, 0, bytes)
  for (let i: u32 = 0; i < bytes; i += 4) {
    const ai = <u64>load<u32>(a + i)
    if (ai === 0) continue
    let carry: u64 = 0
    for (let j: u32 = 0; i + j < bytes; j += 4) {
      const sum = <u64>load<u32>(target + i + j) + ai * <u64>load<u32>(b + j) + carry
      store<u32>(target + i + j, <u32>sum)
      carry = sum >> 32
    }
  }
}

/**
 * Goes on with a power: for each half byte of the exponent, the number at `result` to the 16th and times its power of
 * the base, with products as of `multiply`. `table` holds the base's powers 0 to 15, n + 1 limbs apart; after `result` and
 * at `spare` is room for as much.
 */
export function power(
  result: u32,
  spare: u32,
  table: u32,
  exponent: u32,
  count: u32,
  modulus: u32,
  inverse: u32,
  n: u32,
): void {
  if (n === 2) {
    powerOfTwoLimbs(result, table, exponent, count, twoLimbsAt(modulus), inverse)
    return
  }
  const size = (n + 1) << 2
  for (let index: u32 = 0; index < count; index++) {
    const byte = <u32>load<u8>(exponent + index)
    for (let half: u32 = 0; half < 2; half++) {
      multiply(spare, result, result, modulus, inverse, n)
      multiply(result, spare, spare, modulus, inverse, n)
      multiply(spare, result, result, modulus, inverse, n)
      multiply(result, spare, spare, modulus, inverse, n)
      const digit = half === 0 ? byte >> 4 : byte & 15
      if (digit === 0) continue
      multiply(spare, result, table + digit * size, modulus, inverse, n)
      memory.copy(result, spare, n << 2)
    }
  }
}

/** The same in registers. */
function powerOfTwoLimbs(result: u32, table: u32, exponent: u32, count: u32, m: u64, inverse: u32): void {
  let value = load<u64>(result)
  for (let index: u32 = 0; index < count; index++) {
    const byte = <u32>load<u8>(exponent + index)
    for (let shift: i32 = 4; shift >= 0; shift -= 4) {
      for (let square: u32 = 0; square < 4; square++) value = productOfTwoLimbs(value, value, m, inverse)
      const digit = (byte >> shift) & 15
      if (digit !== 0) value = productOfTwoLimbs(value, load<u64>(table + digit * TWO_LIMBS_SIZE), m, inverse)
    }
  }
  store<u64>(result, value)
}
