import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError, UsageError } from '../../lib/errors.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { decodeOpstackEntry, encodeOpstackEntry } from './opstackEntry.ts'

const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

describe('opstack entry', () => {
  it.each([
    [10n, '0a00'],
    [420n, 'a40300'],
    [901n, '850700'],
    [8453n, '854200'],
    [11_155_420n, 'dcefa80500'],
  ])('encodes chain %s as op-node does', (chainId, hex) => {
    const content = encodeOpstackEntry({ chainId, version: 0n })
    expect(Buffer.from(content).toString('hex')).toBe(hex)
    expect(decodeOpstackEntry(content)).toEqual({ chainId, version: 0n })
  })

  it('decodes every entry it encodes, with or without trailing bytes', () => {
    fc.assert(
      fc.property(uint64, uint64, fc.uint8Array({ maxLength: 8 }), (chainId, version, more) => {
        const content = encodeOpstackEntry({ chainId, version })
        expect(decodeOpstackEntry(Uint8Array.from([...content, ...more]))).toEqual({ chainId, version })
      }),
    )
  })

  it('throws only DecodeErrors on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        try {
          const entry = decodeOpstackEntry(bytes)
          expect(entry.chainId < 2n ** 64n && entry.version < 2n ** 64n).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
    )
    expect(() => decodeOpstackEntry(new Uint8Array(11).fill(0xff))).toThrow(errorWith('decode', 64))
    expect(() => decodeOpstackEntry(Uint8Array.of(0x85))).toThrow(errorWith('decode'))
  })

  it('refuses chain ids over 64 bits, which op-node panics on', () => {
    expect(() => encodeOpstackEntry({ chainId: 2n ** 64n, version: 0n })).toThrow(UsageError)
  })
})
