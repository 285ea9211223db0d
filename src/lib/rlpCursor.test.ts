import { describe, expect, it } from 'vitest'
import { concatBytes } from './bytes.ts'
import { DecodeError } from './errors.ts'
import { fromHex } from './hex.ts'
import { RlpCursor } from './rlpCursor.ts'

/** The kind of the item, `list` or `string`, and the bounds of its payload. */
function read(bytes: Uint8Array, limit = bytes.length, offset = 0) {
  const cursor = new RlpCursor(bytes)
  cursor.read(offset, limit)
  return [cursor.isList ? 'list' : 'string', cursor.start, cursor.end]
}
const long = (prefix: string, length: number) => concatBytes(fromHex(`0x${prefix}`), new Uint8Array(length).fill(9))

describe('an RLP cursor', () => {
  it.each([
    ['a small byte', fromHex('0x7f'), ['string', 0, 1]],
    ['a byte of 128', fromHex('0x8180'), ['string', 1, 2]],
    ['an empty string', fromHex('0x80'), ['string', 1, 1]],
    ['an empty list', fromHex('0xc0'), ['list', 1, 1]],
    ['a list of one small byte', fromHex('0xc17f'), ['list', 1, 2]],
    ['the longest short string', long('b7', 55), ['string', 1, 56]],
    ['the shortest long string', long('b838', 56), ['string', 2, 58]],
    ['the shortest long list', long('f838', 56), ['list', 2, 58]],
    ['a length of two bytes', long('b90100', 256), ['string', 3, 259]],
  ] as const)('reads %s', (_, bytes, expected) => {
    expect(read(bytes)).toEqual(expected)
    expect(read(concatBytes(bytes, Uint8Array.of(1)))).toEqual(expected)
    expect(() => read(bytes, bytes.length - 1)).toThrow(DecodeError)
  })

  it.each([
    ['nothing', fromHex('0x')],
    ['a small byte as a string of one', fromHex('0x817f')],
    ['a string of 55 bytes in the long form', long('b837', 55)],
    ['a list of 55 bytes in the long form', long('f837', 55)],
    ['a length with a leading zero', long('b90038', 56)],
    ['a longer length with a leading zero', long('ba000100', 256)],
    ['a length that is cut', fromHex('0xb9')],
    ['a string that is cut', fromHex('0x82ff')],
    ['a long string that is cut', long('b838', 55)],
  ])('refuses %s', (_, bytes) => {
    expect(() => read(bytes)).toThrow(DecodeError)
  })

  it('moves from item to item, and checks the kind of each', () => {
    const cursor = new RlpCursor(fromHex('0x8201028103c0'))
    expect(() => cursor.readList(0, 7)).toThrow(DecodeError)
    expect(() => cursor.readFixed(0, 7, 3)).toThrow(
      expect.objectContaining({ code: 'decode', message: expect.stringMatching(/ 3 .* 2$/) }),
    )
    cursor.readFixed(0, 7, 2)
    expect(() => cursor.nextString(7)).toThrow(DecodeError)
    expect(() => new RlpCursor(fromHex('0xc0')).readString(0, 1)).toThrow(DecodeError)
    const strings = new RlpCursor(fromHex('0x820102820304'))
    strings.readString(0, 6)
    const next = strings.nextString(6)
    expect([next.itemStart, next.start, next.end]).toEqual([3, 4, 6])
  })

  it('reads integers without leading zeros, up to a length', () => {
    const integer = (hex: `0x${string}`) => {
      const bytes = fromHex(hex)
      const cursor = new RlpCursor(bytes)
      cursor.readInteger(0, bytes.length, 2)
      return cursor.end - cursor.start
    }
    expect((['0x80', '0x01', '0x820100'] as const).map(integer)).toEqual([0, 1, 2])
    for (const hex of ['0x00', '0x820001', '0x83010000'] as const) expect(() => integer(hex)).toThrow(DecodeError)
  })
})
