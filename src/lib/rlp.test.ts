import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from './errors.ts'
import { fromHex, toHex } from './hex.ts'
import { decodeRlp, encodeRlp, type RlpItem, rlpBigInt, rlpListHeader, rlpNumber, splitRlpList } from './rlp.ts'

describe('encodeRlp', () => {
  const cases = [
    { id: 'empty string', input: new Uint8Array(0), hex: '0x80' },
    { id: 'empty list', input: [], hex: '0xc0' },
    { id: 'zero', input: 0, hex: '0x80' },
    { id: 'small integer', input: 15, hex: '0x0f' },
    { id: '1024', input: 1024n, hex: '0x820400' },
    { id: 'dog', input: new TextEncoder().encode('dog'), hex: '0x83646f67' },
    { id: 'set of three', input: [[], [[]], [[], [[]]]], hex: '0xc7c0c1c0c3c0c1c0' },
    { id: '56 bytes', input: new Uint8Array(56), hex: `0xb838${'00'.repeat(56)}` },
  ]
  it.each(cases)('$id', ({ input, hex }) => {
    expect(toHex(encodeRlp(input))).toBe(hex)
  })

  type Tree = Uint8Array | number | bigint | Tree[]
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.uint8Array({ maxLength: 300 }),
      fc.maxSafeNat(),
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      fc.array(tie('tree'), { maxLength: 5 }),
    ),
  }))

  it('encodes like another encoder', () => {
    fc.assert(
      fc.property(tree, (input) => {
        expect(toHex(encodeRlp(input))).toBe(toHex(RLP.encode(input)))
      }),
    )
  })

  it.each([4_000, 5_000, 70_000, 20_000_000])('grows its buffer for %i bytes, and then works as before', (length) => {
    const bytes = new Uint8Array(length).fill(7)
    const input = [1, [bytes, []], bytes.subarray(1)]
    expect(Buffer.compare(encodeRlp(input), RLP.encode(input))).toBe(0)
    expect(toHex(encodeRlp([1, 2]))).toBe('0xc20102')
  })

  it('does not change earlier results', () => {
    const first = encodeRlp([1, 2, 3])
    encodeRlp([4, 5, 6, 7])
    rlpListHeader(1000)
    expect(toHex(first)).toBe('0xc3010203')
  })
})

const decodeError = (named: RegExp) => ({ code: 'decode', message: expect.stringMatching(named) })

describe('decodeRlp', () => {
  const bad = [
    { id: 'nothing', hex: '', at: 0 },
    { id: 'truncated string', hex: '83646f', at: 0, named: / 3 .* 2 / },
    { id: 'single byte with a length', hex: '8105', at: 0 },
    { id: 'long form for a short string', hex: 'b801ff', at: 0 },
    { id: 'length with a leading zero', hex: 'b90038', at: 0 },
    { id: 'trailing byte', hex: '8000', at: 1, named: / 1 / },
    { id: 'item crossing its list', hex: 'c2820100', at: 1, named: / 2 .* 1 / },
    { id: 'length beyond 2^53', hex: 'bfffffffffffffffff', at: 0, named: / 0 / },
  ]
  it.each(bad)('refuses $id, and names the byte', ({ hex, at, named = /^rlp/ }) => {
    expect(() => decodeRlp(fromHex(hex))).toThrow(expect.objectContaining({ ...decodeError(named), at }))
  })

  it('refuses nesting that would exhaust the stack', () => {
    let item: RlpItem = []
    for (let i = 0; i < 80; i++) item = [item]
    const nested = encodeRlp(item)
    expect(() => decodeRlp(nested)).toThrow(expect.objectContaining({ ...decodeError(/ 64 /), at: expect.any(Number) }))
  })

  const { tree } = fc.letrec<{ tree: RlpItem }>((tie) => ({
    tree: fc.oneof({ depthSize: 'small' }, fc.uint8Array({ maxLength: 70 }), fc.array(tie('tree'), { maxLength: 5 })),
  }))

  it('inverts encodeRlp', () => {
    fc.assert(
      fc.property(tree, (item) => {
        expect(toHex(encodeRlp(decodeRlp(encodeRlp(item))))).toBe(toHex(encodeRlp(item)))
        expect(decodeRlp(encodeRlp(item))).toEqual(item)
      }),
    )
  })

  it('throws nothing but DecodeError, and re-encodes what it accepts to the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        let item: RlpItem
        try {
          item = decodeRlp(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
          return
        }
        expect(toHex(encodeRlp(item))).toBe(toHex(bytes))
      }),
    )
  })
})

describe('splitRlpList', () => {
  it('returns the encoding of each item of a list', () => {
    const items = fc.array(fc.oneof(fc.uint8Array({ maxLength: 70 }), fc.array(fc.uint8Array({ maxLength: 5 }))))
    fc.assert(
      fc.property(items, (list) => {
        const encodings = splitRlpList(encodeRlp(list), 'list')
        expect(encodings.map((encoding) => decodeRlp(encoding))).toEqual(list)
      }),
    )
  })

  it('refuses an input that is no list, has trailing bytes, or has another number of items', () => {
    const refusal = (named: RegExp) => expect.objectContaining(decodeError(named))
    expect(() => splitRlpList(fromHex('80'), 'fees')).toThrow(refusal(/^fees\b/))
    expect(() => splitRlpList(fromHex('c10500'), 'fees')).toThrow(refusal(/ 1 /))
    expect(() => splitRlpList(fromHex('c205'), 'fees')).toThrow(refusal(/ 2 .* 1 /))
    expect(() => splitRlpList(fromHex('c182'), 'fees')).toThrow(refusal(/ 2 .* 0 /))
    expect(() => splitRlpList(fromHex('c105'), 'fees', 2)).toThrow(refusal(/^fees\b.* 2 .* 1$/))
  })
})

describe('integers', () => {
  it('refuse leading zeros and values out of range', () => {
    const refusal = (named: RegExp) => expect.objectContaining(decodeError(named))
    expect(() => rlpBigInt(Uint8Array.of(0, 1), 'nonce')).toThrow(refusal(/^nonce\b/))
    expect(() => rlpBigInt(new Uint8Array(33).fill(1), 'value')).toThrow(refusal(/^value\b.* 32 /))
    expect(() => rlpNumber(new Uint8Array(8).fill(255), 'number')).toThrow(refusal(/^number\b.* 18446744073709551615 /))
    expect(rlpBigInt(new Uint8Array(0), 'nonce')).toBe(0n)
  })
})
