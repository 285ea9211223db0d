import { addMultiple, multiply, square, subtract, subtractProducts } from './field'
import { NUMBER_BYTES } from './limbs'

// Points of secp256k1, y^2 = x^3 + 7: affine as x and y, or in Jacobian coordinates as X, Y and Z, where x = X / Z^2 and
// y = Y / Z^3. Formulas: Cohen, Miyaji, Ono, "Efficient elliptic curve exponentiation using mixed coordinates", 1998.

export const AFFINE_BYTES: u32 = 2 * NUMBER_BYTES
export const JACOBIAN_BYTES: u32 = 3 * NUMBER_BYTES
export const Y: u32 = NUMBER_BYTES
export const Z: u32 = 2 * NUMBER_BYTES

const ZERO: u32 = <u32>memory.data(36, 16)
const a: u32 = <u32>memory.data(36, 16)
const b: u32 = <u32>memory.data(36, 16)
const c: u32 = <u32>memory.data(36, 16)
const d: u32 = <u32>memory.data(36, 16)

/** point = the affine point, or its negative */
export function fromAffine(point: u32, affine: u32, isNegative: bool): void {
  memory.copy(point, affine, AFFINE_BYTES)
  if (isNegative) addMultiple(point + Y, ZERO, affine + Y, -1)
  memory.fill(point + Z, 0, NUMBER_BYTES)
  store<i32>(point + Z, 1)
}

/**
 * point = point plus the affine point, or minus it. Where the formula does not hold, because the two are the same or each
 * other's negative, Z becomes 0, and is 0 whatever is added then.
 */
export function addAffine(point: u32, affine: u32, isNegative: bool): void {
  const z = point + Z
  square(a, z)
  multiply(b, affine, a)
  multiply(a, a, z)
  subtract(b, b, point)
  if (isNegative) {
    subtract(c, ZERO, affine + Y)
    multiply(a, a, c)
  } else {
    multiply(a, a, affine + Y)
  }
  subtract(a, a, point + Y)
  multiply(z, z, b)
  square(c, b)
  multiply(b, b, c)
  multiply(c, c, point)
  // a = r, b = H^3, c = X H^2
  square(d, a)
  addMultiple(d, d, b, -1)
  addMultiple(point, d, c, -2)
  subtract(c, c, point)
  subtractProducts(point + Y, a, c, point + Y, b)
}

/** target = twice the affine point */
export function doubleAffine(target: u32, affine: u32): void {
  square(a, affine)
  addMultiple(a, ZERO, a, 3)
  square(b, affine + Y)
  multiply(c, affine, b)
  addMultiple(c, ZERO, c, 4)
  // a = 3 x^2, b = y^2, c = 4 x y^2
  square(d, a)
  addMultiple(target, d, c, -2)
  subtract(c, c, target)
  addMultiple(d, ZERO, b, 8)
  addMultiple(target + Z, ZERO, affine + Y, 2)
  subtractProducts(target + Y, a, c, d, b)
}
