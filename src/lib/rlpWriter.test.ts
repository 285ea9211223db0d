import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from './errors.ts'
import { fromHex, type Hex, toHex } from './hex.ts'
import { encodeRlp } from './rlp.ts'
import { RlpListWriter } from './rlpWriter.ts'
import { propertyRuns } from './testUtils/propertyRuns.ts'

const item = fc.oneof(
  fc.uint8Array({ maxLength: 80 }).map(toHex),
  fc.uint8Array({ minLength: 1, maxLength: 1 }).map(toHex),
  fc.integer({ min: 200, max: 70_000 }).map((length) => toHex(new Uint8Array(length).fill(7))),
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: 0n, max: 2n ** 54n }),
  fc.maxSafeNat(),
  fc.nat(300),
)

describe('RlpListWriter', () => {
  it('writes what encodeRlp writes, list after list', () => {
    const writer = new RlpListWriter()
    fc.assert(
      fc.property(fc.array(item, { maxLength: 24 }), (items) => {
        writer.begin()
        for (const each of items) {
          if (typeof each === 'string') writer.hex(each, undefined, 'item')
          else writer.integer(each)
        }
        const plain = items.map((each) => (typeof each === 'string' ? fromHex(each) : each))
        expect(toHex(writer.finish())).toBe(toHex(encodeRlp(plain)))
      }),
      { numRuns: propertyRuns(400) },
    )
  })

  it.each([
    ['too short', '0x1234', 3],
    ['too long', '0x12345678', 3],
    ['no hex', '0x1234zz', 3],
    ['half a byte', '0x12345', undefined],
    ['one byte instead of none', '0x12', 0],
  ])('refuses text that is %s', (_id, text, bytes) => {
    const writer = new RlpListWriter()
    writer.begin()
    expect(() => writer.hex(text as Hex, bytes, 'item')).toThrow(DecodeError)
  })

  it('refuses negative integers', () => {
    expect(() => new RlpListWriter().integer(-1)).toThrow(RangeError)
  })
})
