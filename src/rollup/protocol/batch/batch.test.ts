import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { testConfig } from '../testUtils/config.ts'
import { decodeBatch } from './batch.ts'
import { decodeSingularBatch, encodeSingularBatch, singularBatchSteps } from './singularBatch.ts'

const config = testConfig()

describe('singular batch', () => {
  const batch = {
    parentHash: `0x${'bb'.repeat(32)}` as Hex,
    epochNumber: 1000,
    epochHash: `0x${'11'.repeat(32)}` as Hex,
    timestamp: 1_700_000_104,
    transactions: [],
  }

  it('has the reference encoding', () => {
    expect(toHex(encodeRlp(encodeSingularBatch(batch)))).toBe(
      '0xb84e00f84ba0bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb8203e8a01111111111111111111111111111111111111111111111111111111111111111846553f168c0',
    )
    expect(decodeSingularBatch(encodeSingularBatch(batch))).toEqual({ type: 'singular', ...batch })
  })

  it('survives encoding and decoding', () => {
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex)
    const arbitrary = fc.record({
      type: fc.constant('singular' as const),
      parentHash: hash,
      epochNumber: fc.maxSafeNat(),
      epochHash: hash,
      timestamp: fc.maxSafeNat(),
      transactions: fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 5 }),
    })
    fc.assert(
      fc.property(arbitrary, (value) => {
        expect(decodeSingularBatch(encodeSingularBatch(value))).toEqual(value)
      }),
    )
  })

  it('refuses another type, and a sixth field', () => {
    expect(() => decodeSingularBatch(encodeSingularBatch(batch).with(0, 1))).toThrow(errorWith('decode', 1))
    const hash = fromHex(batch.epochHash)
    const bytes = encodeRlp([hash, 1, hash, 2, [], 3])
    expect(() => decodeSingularBatch(concatBytes(Uint8Array.of(0), bytes))).toThrow(errorWith('decode', 'five'))
  })

  it('yields after each 50,000 transactions, in both of its passes', () => {
    const turns = (length: number) => {
      const transactions = Array(length).fill(Uint8Array.of(1))
      return [...singularBatchSteps(encodeSingularBatch({ ...batch, transactions }))].length
    }
    expect([49_999, 50_000, 100_001].map(turns)).toEqual([0, 2, 4])
  })
})

it('a batch of an unknown type, or without a type, is refused', () => {
  expect(() => decodeBatch(Uint8Array.of(2, 1), config)).toThrow(DecodeError)
  expect(() => decodeBatch(new Uint8Array(0), config)).toThrow(DecodeError)
})

it('arbitrary bytes after the type of a singular batch are refused with DecodeError', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expectDecodeErrorOrDone(() => void decodeBatch(concatBytes(Uint8Array.of(0), bytes), config))
    }),
  )
})
