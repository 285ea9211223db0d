import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bigIntToBytes, bigIntToMinimalBytes, bytesToBigInt, equalBytes } from './bytes.ts'

it.each([0, 1, 32, 128, 129, 600])('compares %i bytes one by one', (length) => {
  const bytes = new Uint8Array(length).map((_, index) => index)
  expect(equalBytes(bytes, bytes)).toBe(true)
  expect(equalBytes(bytes, Buffer.from(bytes))).toBe(true)
  expect(equalBytes(bytes, new Uint8Array(length + 1))).toBe(false)
  for (const at of length === 0 ? [] : [0, length - 1]) {
    const other = bytes.slice()
    other[at] = 255 - (other[at] ?? 0)
    expect(equalBytes(bytes, other)).toBe(false)
  }
})

const unsigned = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  // Values near the limit of exact numbers, and near byte boundaries.
  fc.tuple(fc.integer({ min: 1, max: 64 }), fc.integer({ min: -2, max: 2 })).map(([bits, more]) => {
    const value = 2n ** BigInt(bits) + BigInt(more)
    return value < 0n ? 0n : value
  }),
)

it('an integer survives encoding to minimal or fixed length', () => {
  fc.assert(
    fc.property(unsigned, (value) => {
      const hex = value === 0n ? '' : value.toString(16)
      const digits = hex.length % 2 === 0 ? hex : `0${hex}`
      expect(Buffer.from(bigIntToMinimalBytes(value)).toString('hex')).toBe(digits)
      if (value <= Number.MAX_SAFE_INTEGER) {
        expect(Buffer.from(bigIntToMinimalBytes(Number(value))).toString('hex')).toBe(digits)
      }
      const padded = bigIntToBytes(value, 40)
      expect(Buffer.from(padded).toString('hex')).toBe(digits.padStart(80, '0'))
      expect(bytesToBigInt(padded)).toBe(value)
      expect(bytesToBigInt(bigIntToMinimalBytes(value))).toBe(value)
    }),
  )
})

it('an integer that does not fit is refused', () => {
  expect(() => bigIntToBytes(256n, 1)).toThrow(RangeError)
  expect(() => bigIntToBytes(-1n, 8)).toThrow(RangeError)
})
