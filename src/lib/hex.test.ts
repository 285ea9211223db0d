import { describe, expect, it } from 'vitest'
import { fromHex, normalizeHex, quantityToBigInt, quantityToNumber, toHex, toQuantity } from './hex.ts'

describe('fromHex', () => {
  it('reads with and without prefix, in either case', () => {
    expect(toHex(fromHex('0xDEad'))).toBe('0xdead')
    expect(toHex(fromHex('dead'))).toBe('0xdead')
    expect(fromHex('0x').length).toBe(0)
  })

  it.each([
    { id: 'odd length', text: '0x123', message: 'key: odd number' },
    { id: 'bad digit in the middle', text: '0x12zz34', message: 'key: not hex' },
    { id: 'wrong length', text: '0x12', message: 'key: expected 32 bytes, got 1' },
  ])('refuses $id', ({ text, message }) => {
    expect(() => fromHex(text, 32, 'key')).toThrow(message)
  })
})

describe('normalizeHex', () => {
  it('lower-cases and checks length', () => {
    expect(normalizeHex('0xABcd', 2, 'x')).toBe('0xabcd')
    expect(() => normalizeHex('0xABcd', 3, 'batch inbox')).toThrow(
      'batch inbox: expected 3 bytes of hex with 0x prefix, got "0xABcd"',
    )
    expect(() => normalizeHex(undefined, 3, 'batch inbox')).toThrow('got undefined')
  })
})

describe('quantities', () => {
  it('has no leading zeros', () => {
    expect(toQuantity(0)).toBe('0x0')
    expect(toQuantity(255n)).toBe('0xff')
  })

  it.each([16, '16', '0x', '0xg', null, `0x1${'0'.repeat(64)}`])('refuses %s', (value) => {
    expect(() => quantityToBigInt(value, 'gas')).toThrow('gas: expected a hex quantity')
  })

  it('refuses numbers beyond 2^53-1', () => {
    expect(quantityToNumber('0x1fffffffffffff')).toBe(Number.MAX_SAFE_INTEGER)
    expect(() => quantityToNumber('0x20000000000000', 'block number')).toThrow('block number')
  })
})
