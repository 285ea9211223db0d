import { encodeAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import { toHex } from '../../src/lib/hex.ts'
import { type AbiParameter, type AbiValue, encodeCall, encodeParameters, functionSelector } from './abi.ts'

const ADDRESS = '0x1122334455667788990011223344556677889900'

describe('ABI encoding', () => {
  const cases: { id: string; types: AbiParameter[]; values: AbiValue[] }[] = [
    { id: 'nothing', types: [], values: [] },
    { id: 'words', types: [{ type: 'address' }, { type: 'uint64' }, { type: 'bool' }], values: [ADDRESS, 7n, true] },
    { id: 'bytes in place', types: [{ type: 'bytes4' }, { type: 'uint256' }], values: ['0x01020304', 2n ** 256n - 1n] },
    { id: 'empty bytes', types: [{ type: 'bytes' }], values: ['0x'] },
    {
      id: 'dynamic between words',
      types: [{ type: 'uint8' }, { type: 'bytes' }, { type: 'string' }, { type: 'uint8' }],
      values: [1, `0x${'ab'.repeat(33)}`, 'a text longer than the thirty-two bytes of a word', 255],
    },
    {
      id: 'tuples, static and dynamic',
      types: [
        {
          type: 'tuple',
          components: [
            { type: 'uint32', name: 'a' },
            { type: 'address', name: 'b' },
          ],
        },
        {
          type: 'tuple',
          components: [
            { type: 'bytes', name: 'c' },
            { type: 'uint8', name: 'd' },
          ],
        },
      ],
      values: [
        [5, ADDRESS],
        ['0xcafe', 9],
      ],
    },
  ]
  for (const { id, types, values } of cases) {
    it(`agrees with viem on ${id}`, () => {
      // viem encodes tuples from objects with the component names as keys.
      const forViem = types.map((type, index) => {
        const value = values[index]
        if (!Array.isArray(value)) return value
        return Object.fromEntries(value.map((part, at) => [type.components?.[at]?.name ?? '', part]))
      })
      expect(toHex(encodeParameters(types, values))).toBe(encodeAbiParameters(types, forViem))
    })
  }

  it('puts the selector before the arguments', () => {
    const abi = [{ type: 'function', name: 'transfer', inputs: [{ type: 'address' }, { type: 'uint256' }] }]
    expect(toHex(functionSelector('transfer(address,uint256)'))).toBe('0xa9059cbb')
    expect(toHex(encodeCall(abi, 'transfer', [ADDRESS, 1])).slice(0, 10)).toBe('0xa9059cbb')
  })

  it('refuses values that do not fit', () => {
    expect(() => encodeParameters([{ type: 'uint8' }], [256])).toThrow(RangeError)
    expect(() => encodeParameters([{ type: 'address' }], ['0x11'])).toThrow('20 bytes')
    expect(() => encodeParameters([{ type: 'uint8' }], [])).toThrow('expected 1 arguments, got 0')
    expect(() => encodeParameters([{ type: 'uint8[]' }], ['x'])).toThrow('cannot encode')
    expect(() => encodeCall([], 'missing', [])).toThrow('0 functions named missing')
  })
})
