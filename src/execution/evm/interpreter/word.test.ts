import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import * as words from './word.ts'

const MODULUS = 1n << 256n
/** Integers of every size, including those at the borders of the two forms. */
const integer = fc.oneof(
  fc.bigInt(0n, MODULUS - 1n),
  fc.bigInt(0n, 300n),
  fc.bigInt(0n, 2n ** 54n),
  fc.tuple(fc.constantFrom(31n, 32n, 52n, 53n, 54n, 64n, 160n, 255n, 256n), fc.bigInt(-2n, 2n)).map(([bits, delta]) => {
    const value = (1n << bits) + delta
    return value < 0n ? 0n : value >= MODULUS ? MODULUS - 1n : value
  }),
)
const signed = (value: bigint) => BigInt.asIntN(256, value)
const wrap = (value: bigint) => BigInt.asUintN(256, value)
const flag = (value: boolean) => (value ? 1n : 0n)

function modularPower(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (const bit of exponent.toString(2)) {
    result = wrap(result * result)
    if (bit === '1') result = wrap(result * base)
  }
  return result
}

/** By the Yellow Paper, with bigint. */
const BINARY: Record<
  string,
  { run: (a: words.Word, b: words.Word) => words.Word | boolean; expected: (a: bigint, b: bigint) => bigint }
> = {
  add: { run: words.add, expected: (a, b) => wrap(a + b) },
  subtract: { run: words.subtract, expected: (a, b) => wrap(a - b) },
  multiply: { run: words.multiply, expected: (a, b) => wrap(a * b) },
  divide: { run: words.divide, expected: (a, b) => (b === 0n ? 0n : a / b) },
  modulo: { run: words.modulo, expected: (a, b) => (b === 0n ? 0n : a % b) },
  signedDivide: { run: words.signedDivide, expected: (a, b) => (b === 0n ? 0n : wrap(signed(a) / signed(b))) },
  signedModulo: { run: words.signedModulo, expected: (a, b) => (b === 0n ? 0n : wrap(signed(a) % signed(b))) },
  power: { run: words.power, expected: modularPower },
  signExtend: {
    run: words.signExtend,
    expected: (a, b) => (a >= 31n ? b : wrap(BigInt.asIntN(Number(a) * 8 + 8, b))),
  },
  signedLess: { run: words.signedLess, expected: (a, b) => flag(signed(a) < signed(b)) },
  and: { run: words.and, expected: (a, b) => a & b },
  or: { run: words.or, expected: (a, b) => a | b },
  xor: { run: words.xor, expected: (a, b) => a ^ b },
  byteAt: { run: words.byteAt, expected: (a, b) => (a >= 32n ? 0n : (b >> ((31n - a) * 8n)) & 0xffn) },
  shiftLeft: { run: words.shiftLeft, expected: (a, b) => (a >= 256n ? 0n : wrap(b << a)) },
  shiftRight: { run: words.shiftRight, expected: (a, b) => (a >= 256n ? 0n : b >> a) },
  signedShiftRight: {
    run: words.signedShiftRight,
    expected: (a, b) => wrap(signed(b) >> (a >= 256n ? 256n : a)),
  },
}

function expectWord(word: words.Word | boolean, expected: bigint): void {
  expect(BigInt(word)).toBe(expected)
  if (typeof word !== 'boolean') expect(typeof word).toBe(expected < 2n ** 53n ? 'number' : 'bigint')
}

describe('operations on words', () => {
  it.each(Object.keys(BINARY))('%s equals bigint arithmetic', (name) => {
    const operation = BINARY[name]
    if (operation === undefined) throw new Error(name)
    fc.assert(
      fc.property(integer, integer, (a, b) => {
        expectWord(operation.run(words.toWord(a), words.toWord(b)), operation.expected(a, b))
      }),
      { numRuns: propertyRuns(400) },
    )
  })

  it('addModulo and multiplyModulo equal bigint arithmetic', () => {
    fc.assert(
      fc.property(integer, integer, integer, (a, b, n) => {
        const [x, y, z] = [words.toWord(a), words.toWord(b), words.toWord(n)]
        expectWord(words.addModulo(x, y, z), n === 0n ? 0n : (a + b) % n)
        expectWord(words.multiplyModulo(x, y, z), n === 0n ? 0n : (a * b) % n)
      }),
    )
  })

  it('convert to bytes, minimal bytes, slots, addresses and complement', () => {
    fc.assert(
      fc.property(integer, (a) => {
        const word = words.toWord(a)
        const digits = a.toString(16).padStart(64, '0')
        const bytes = words.wordToBytes(word)
        expect(Buffer.from(bytes).toString('hex')).toBe(digits)
        expectWord(words.readWord(new DataView(bytes.buffer), 0), a)
        expectWord(words.bytesToWord(bytes), a)
        const minimal = words.wordToMinimalBytes(word)
        expect(minimal.length).toBe(words.byteLength(word))
        expectWord(words.bytesToWord(minimal), a)
        expect(words.wordToSlot(word)).toBe(`0x${digits}`)
        expect(words.wordToAddress(word)).toBe(`0x${digits.slice(24)}`)
        expectWord(words.not(word), MODULUS - 1n - a)
        expect(words.leadingZeros(word)).toBe(a === 0n ? 256 : 256 - a.toString(2).length)
      }),
    )
  })
})
