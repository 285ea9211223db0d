import { describe, expect, it } from 'vitest'
import { fromHex, normalizeHex, quantityToBigInt, quantityToNumber, toHex, toQuantity } from './hex.ts'

const decodeError = (named: RegExp) =>
  expect.objectContaining({ code: 'decode', message: expect.stringMatching(named) })

describe('fromHex', () => {
  it('reads with and without prefix, in either case', () => {
    expect(toHex(fromHex('0xDEad'))).toBe('0xdead')
    expect(toHex(fromHex('dead'))).toBe('0xdead')
    expect(fromHex('0x').length).toBe(0)
  })

  it.each([
    { id: 'odd length', text: '0x123', named: /^key\b/ },
    { id: 'bad digit in the middle', text: '0x12zz34', named: /^key\b/ },
    { id: 'wrong length', text: '0x12', named: /^key\b.* 32 .* 1$/ },
  ])('refuses $id', ({ text, named }) => {
    expect(() => fromHex(text, 32, 'key')).toThrow(decodeError(named))
  })
})

describe('normalizeHex', () => {
  it('lower-cases and checks length', () => {
    expect(normalizeHex('0xABcd', 2, 'x')).toBe('0xabcd')
    expect(() => normalizeHex('0xABcd', 3, 'batch inbox')).toThrow(decodeError(/^batch inbox\b.* 3 .*"0xABcd"/))
    expect(() => normalizeHex(undefined, 3, 'batch inbox')).toThrow(decodeError(/^batch inbox\b.*undefined/))
  })
})

describe('quantities', () => {
  it('has no leading zeros', () => {
    expect(toQuantity(0)).toBe('0x0')
    expect(toQuantity(255n)).toBe('0xff')
  })

  it.each([16, '16', '0x', '0xg', null, `0x1${'0'.repeat(64)}`])('refuses %s', (value) => {
    expect(() => quantityToBigInt(value, 'gas')).toThrow(decodeError(/^gas\b/))
  })

  it('refuses numbers beyond 2^53-1', () => {
    expect(quantityToNumber('0x1fffffffffffff')).toBe(Number.MAX_SAFE_INTEGER)
    expect(() => quantityToNumber('0x20000000000000', 'block number')).toThrow(decodeError(/^block number\b/))
  })
})
