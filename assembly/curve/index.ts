import { invertElement, normalize } from './field'
import { areEqual, fromPlain, isZero, PLAIN_BYTES } from './limbs'
import { addAffine, fromAffine, Y, Z } from './point'
import { DIGITS, invertScalar, multiplyReduced, toDigits } from './scalar'
import { fillRow, multipleAt, scale, TABLE_BYTES } from './table'

// Whether a signature is a known key's. With multiples of the key at hand as well as of the generator this takes no
// doublings, and so half the time in which the key is recovered from the signature.

export { fillRow }

const hash: u32 = <u32>memory.data(36, 16)
const r: u32 = <u32>memory.data(36, 16)
const s: u32 = <u32>memory.data(36, 16)
const digits: u32 = <u32>memory.data(32, 16)
const sum: u32 = <u32>memory.data(108, 16)
const inverse: u32 = <u32>memory.data(36, 16)

/** Where the memory is the caller's to lay out. */
export function freeMemory(): u32 {
  return (<u32>__heap_base + 15) & ~15
}

export function tableBytes(): u32 {
  return TABLE_BYTES
}

export function rows(): u32 {
  return DIGITS
}

/** Begins the table of a point, whose coordinates stand at `source`, big-endian. */
export function beginTable(table: u32, source: u32): void {
  fromPlain(table, source)
  fromPlain(table + Y, source + PLAIN_BYTES)
}

/**
 * Whether the point R = (hash G + r key) / s has x = r and that parity of y, so that key is what is recovered from the
 * signature (SEC 1, section 4.1.6). `source` has hash, r and s, big-endian; r and s are above 0 and below n. False also
 * where a sum on the way is one that the formulas do not give, which only the owner of the key can bring about.
 */
export function isSignedBy(generatorTable: u32, keyTable: u32, source: u32, isOdd: bool): bool {
  fromPlain(hash, source)
  fromPlain(r, source + PLAIN_BYTES)
  fromPlain(s, source + 2 * PLAIN_BYTES)
  invertScalar(s, s)
  multiplyReduced(hash, hash, s)
  addMultiples(generatorTable, hash, true)
  multiplyReduced(s, r, s)
  addMultiples(keyTable, s, false)
  normalize(sum + Z)
  if (isZero(sum + Z)) return false
  invertElement(inverse, sum + Z)
  scale(sum, sum, inverse)
  normalize(sum)
  normalize(sum + Y)
  return areEqual(sum, r) && ((load<u32>(sum + Y) & 1) === 1) === isOdd
}

/** Adds the scalar's multiple of the table's point to the sum, which may begin here. */
function addMultiples(table: u32, scalar: u32, isFirst: bool): void {
  const isNegated = toDigits(digits, scalar)
  for (let row: u32 = 0; row < DIGITS; row++) {
    const digit = <u32>load<u8>(digits + row)
    const isNegative = digit < 128
    const multiple = multipleAt(table, row, isNegative ? 127 - digit : digit - 128)
    if (isFirst && row === 0) fromAffine(sum, multiple, isNegative !== isNegated)
    else addAffine(sum, multiple, isNegative !== isNegated)
  }
}
