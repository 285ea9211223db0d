import type { Hex } from '../../../lib/hex.ts'

/**
 * A 256-bit word: always a `number` if below 2^53, else a `bigint`, so that `===` compares words. Most words are small
 * (counters, offsets, flags), and numbers are several times as fast.
 */
export type Word = number | bigint

const MAX = Number.MAX_SAFE_INTEGER
const MAX_BIG = BigInt(MAX)
const TWO_32 = 0x1_0000_0000
const ALL_ONES = (1n << 256n) - 1n
const SIGN_BIT = 1n << 255n

/** Converts an integer from 0 to 2^256−1. */
export function toWord(value: bigint): Word {
  return value <= MAX_BIG ? Number(value) : value
}

function wrap(value: bigint): Word {
  return toWord(BigInt.asUintN(256, value))
}

function signed(word: Word): bigint {
  return typeof word === 'number' ? BigInt(word) : BigInt.asIntN(256, word)
}

function isNegative(word: Word): boolean {
  return typeof word === 'bigint' && word >= SIGN_BIT
}

export function add(a: Word, b: Word): Word {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (sum <= MAX) return sum
  }
  return wrap(BigInt(a) + BigInt(b))
}

export function subtract(a: Word, b: Word): Word {
  if (typeof a === 'number' && typeof b === 'number' && a >= b) return a - b
  return wrap(BigInt(a) - BigInt(b))
}

export function multiply(a: Word, b: Word): Word {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    if (product <= MAX) return product
  }
  return wrap(BigInt(a) * BigInt(b))
}

export function divide(a: Word, b: Word): Word {
  if (b === 0) return 0
  if (typeof a === 'number') return typeof b === 'number' ? (a - (a % b)) / b : 0
  return toWord(a / BigInt(b))
}

export function modulo(a: Word, b: Word): Word {
  if (b === 0) return 0
  if (typeof a === 'number') return typeof b === 'number' ? a % b : a
  return toWord(a % BigInt(b))
}

export function signedDivide(a: Word, b: Word): Word {
  if (b === 0) return 0
  if (!isNegative(a) && !isNegative(b)) return divide(a, b)
  return wrap(signed(a) / signed(b))
}

export function signedModulo(a: Word, b: Word): Word {
  if (b === 0) return 0
  if (!isNegative(a) && !isNegative(b)) return modulo(a, b)
  return wrap(signed(a) % signed(b))
}

export function addModulo(a: Word, b: Word, n: Word): Word {
  return n === 0 ? 0 : toWord((BigInt(a) + BigInt(b)) % BigInt(n))
}

export function multiplyModulo(a: Word, b: Word, n: Word): Word {
  return n === 0 ? 0 : toWord((BigInt(a) * BigInt(b)) % BigInt(n))
}

export function power(base: Word, exponent: Word): Word {
  if (exponent === 0) return 1
  if (base === 2) return exponent < 53 ? 2 ** Number(exponent) : exponent < 256 ? 1n << BigInt(exponent) : 0
  let result = 1n
  let factor = BigInt(base)
  for (let rest = BigInt(exponent); rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = BigInt.asUintN(256, result * factor)
    factor = BigInt.asUintN(256, factor * factor)
  }
  return toWord(result)
}

/** Length of the number in bytes, for EXP's price. */
export function byteLength(word: Word): number {
  return word === 0 ? 0 : Math.ceil(word.toString(16).length / 2)
}

export function signExtend(index: Word, word: Word): Word {
  if (index >= 31) return word
  return wrap(BigInt.asIntN(Number(index) * 8 + 8, BigInt(word)))
}

export function signedLess(a: Word, b: Word): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b
  return signed(a) < signed(b)
}

const MAX_BITWISE = 0x7fff_ffff

export function and(a: Word, b: Word): Word {
  if (typeof a === 'number' && typeof b === 'number' && a <= MAX_BITWISE && b <= MAX_BITWISE) return a & b
  return toWord(BigInt(a) & BigInt(b))
}

export function or(a: Word, b: Word): Word {
  if (typeof a === 'number' && typeof b === 'number' && a <= MAX_BITWISE && b <= MAX_BITWISE) return a | b
  return toWord(BigInt(a) | BigInt(b))
}

export function xor(a: Word, b: Word): Word {
  if (typeof a === 'number' && typeof b === 'number' && a <= MAX_BITWISE && b <= MAX_BITWISE) return a ^ b
  return toWord(BigInt(a) ^ BigInt(b))
}

export function not(a: Word): Word {
  return toWord(ALL_ONES - BigInt(a))
}

/** Byte `index`, counted from the most significant one. */
export function byteAt(index: Word, word: Word): Word {
  if (index >= 32) return 0
  const shift = (31 - Number(index)) * 8
  return Number((BigInt(word) >> BigInt(shift)) & 0xffn)
}

export function shiftLeft(shift: Word, word: Word): Word {
  if (shift >= 256 || word === 0) return 0
  if (typeof word === 'number' && shift < 53) {
    const result = word * 2 ** Number(shift)
    if (result <= MAX) return result
  }
  return wrap(BigInt(word) << BigInt(shift))
}

export function shiftRight(shift: Word, word: Word): Word {
  if (shift >= 256) return 0
  if (typeof word === 'number') return shift >= 53 ? 0 : Math.floor(word / 2 ** Number(shift))
  return toWord(word >> BigInt(shift))
}

export function signedShiftRight(shift: Word, word: Word): Word {
  if (!isNegative(word)) return shiftRight(shift, word)
  return wrap(signed(word) >> (shift >= 256 ? 255n : BigInt(shift)))
}

export function leadingZeros(word: Word): number {
  if (typeof word === 'number') {
    const high = Math.floor(word / TWO_32)
    return high === 0 ? 224 + Math.clz32(word) : 192 + Math.clz32(high)
  }
  const digits = word.toString(16)
  return 256 - digits.length * 4 + Math.clz32(Number.parseInt(digits.charAt(0), 16)) - 28
}

/** Big-endian word at `offset`. All 32 bytes must exist. */
export function readWord(view: DataView, offset: number): Word {
  if (
    view.getUint32(offset) === 0 &&
    view.getUint32(offset + 4) === 0 &&
    view.getUint32(offset + 8) === 0 &&
    view.getUint32(offset + 12) === 0 &&
    view.getUint32(offset + 16) === 0 &&
    view.getUint32(offset + 20) === 0
  ) {
    const high = view.getUint32(offset + 24)
    if (high <= 0x1f_ffff) return high * TWO_32 + view.getUint32(offset + 28)
  }
  return (
    (view.getBigUint64(offset) << 192n) |
    (view.getBigUint64(offset + 8) << 128n) |
    (view.getBigUint64(offset + 16) << 64n) |
    view.getBigUint64(offset + 24)
  )
}

export function writeWord(view: DataView, offset: number, word: Word): void {
  if (typeof word === 'number') {
    view.setUint32(offset, 0)
    view.setUint32(offset + 4, 0)
    view.setUint32(offset + 8, 0)
    view.setUint32(offset + 12, 0)
    view.setUint32(offset + 16, 0)
    view.setUint32(offset + 20, 0)
    view.setUint32(offset + 24, Math.floor(word / TWO_32))
    view.setUint32(offset + 28, word % TWO_32)
    return
  }
  // Each call writes the low 64 bits.
  view.setBigUint64(offset, word >> 192n)
  view.setBigUint64(offset + 8, word >> 128n)
  view.setBigUint64(offset + 16, word >> 64n)
  view.setBigUint64(offset + 24, word)
}

/** Shared buffer for conversions: V8 moves an array out of its heap before it creates a view of it. */
const scratch = new Uint8Array(32)
const scratchView = new DataView(scratch.buffer)

/** Big-endian integer of up to 32 bytes. */
export function bytesToWord(bytes: Uint8Array): Word {
  const { length } = bytes
  if (length <= 6) {
    let value = 0
    for (let index = 0; index < length; index++) value = value * 256 + (bytes[index] ?? 0)
    return value
  }
  const start = 32 - length
  for (let index = 0; index < start; index++) scratch[index] = 0
  for (let index = 0; index < length; index++) scratch[start + index] = bytes[index] ?? 0
  return readWord(scratchView, 0)
}

/** 32 bytes. */
export function wordToBytes(word: Word): Uint8Array {
  writeWord(scratchView, 0, word)
  return fromScratch(0)
}

/** Without leading zeros; empty for 0. */
export function wordToMinimalBytes(word: Word): Uint8Array {
  writeWord(scratchView, 0, word)
  let start = 0
  while (start < 32 && scratch[start] === 0) start++
  return fromScratch(start)
}

function fromScratch(start: number): Uint8Array {
  const bytes = new Uint8Array(32 - start)
  for (let index = start; index < 32; index++) bytes[index - start] = scratch[index] ?? 0
  return bytes
}

/** The state's name of a storage slot: 32 bytes of hex. */
export function wordToSlot(word: Word): Hex {
  return `0x${word.toString(16).padStart(64, '0')}`
}

/** The low 20 bytes. */
export function wordToAddress(word: Word): Hex {
  const low = typeof word === 'number' ? word : BigInt.asUintN(160, word)
  return `0x${low.toString(16).padStart(40, '0')}`
}
