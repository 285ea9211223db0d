import { invertElement, multiply, normalize, square } from './field'
import { NUMBER_BYTES } from './limbs'
import { AFFINE_BYTES, addAffine, doubleAffine, fromAffine, JACOBIAN_BYTES, Y, Z } from './point'
import { DIGITS } from './scalar'

// Multiples of a point, so that any other is a sum of 32 of them: row i has 1, 3, 5 ... 255 times 256^i of it. A table is
// made row by row, each of which takes a fraction of a millisecond.

const ROW_POINTS: u32 = 128
const ROW_BYTES: u32 = ROW_POINTS * AFFINE_BYTES
/** The last row begins one more, as all do. */
export const TABLE_BYTES: u32 = DIGITS * ROW_BYTES + AFFINE_BYTES

const POINTS: u32 = <u32>memory.data(13824, 16)
/** The product of the Z of a point and of all before it. */
const PRODUCTS: u32 = <u32>memory.data(4608, 16)
const twice: u32 = <u32>memory.data(72, 16)
const inverse: u32 = <u32>memory.data(36, 16)
const ofOne: u32 = <u32>memory.data(36, 16)
const squared: u32 = <u32>memory.data(36, 16)

/** Where 2 index + 1 times 256^row of the point stands. */
export function multipleAt(table: u32, row: u32, index: u32): u32 {
  return table + row * ROW_BYTES + index * AFFINE_BYTES
}

/** Fills a row, whose first point is there, and begins the next one. */
export function fillRow(table: u32, row: u32): void {
  const first = multipleAt(table, row, 0)
  doubleAffine(POINTS, first)
  toAffine(twice, 1)
  fromAffine(POINTS, first, false)
  addAffine(POINTS, twice, false)
  for (let i: u32 = 1; i < ROW_POINTS; i++) {
    const point = POINTS + i * JACOBIAN_BYTES
    memory.copy(point, point - JACOBIAN_BYTES, JACOBIAN_BYTES)
    // The row's last is 255 times its first, and one more the first of the next.
    addAffine(point, i === ROW_POINTS - 1 ? first : twice, false)
  }
  toAffine(first + AFFINE_BYTES, ROW_POINTS)
}

/** Writes the first `count` of POINTS to target; all are inverted at once. */
function toAffine(target: u32, count: u32): void {
  memory.copy(PRODUCTS, POINTS + Z, NUMBER_BYTES)
  for (let i: u32 = 1; i < count; i++) {
    const product = PRODUCTS + i * NUMBER_BYTES
    multiply(product, product - NUMBER_BYTES, POINTS + i * JACOBIAN_BYTES + Z)
  }
  memory.copy(squared, PRODUCTS + (count - 1) * NUMBER_BYTES, NUMBER_BYTES)
  normalize(squared)
  invertElement(inverse, squared)
  for (let i: i32 = <i32>count - 1; i >= 0; i--) {
    const point = POINTS + <u32>i * JACOBIAN_BYTES
    if (i === 0) memory.copy(ofOne, inverse, NUMBER_BYTES)
    else multiply(ofOne, inverse, PRODUCTS + <u32>(i - 1) * NUMBER_BYTES)
    multiply(inverse, inverse, point + Z)
    scale(target + <u32>i * AFFINE_BYTES, point, ofOne)
  }
}

/** affine = point, of whose Z this is the inverse. May be the same place. */
export function scale(affine: u32, point: u32, inverseOfZ: u32): void {
  square(squared, inverseOfZ)
  multiply(affine, point, squared)
  multiply(squared, squared, inverseOfZ)
  multiply(affine + Y, point + Y, squared)
}
