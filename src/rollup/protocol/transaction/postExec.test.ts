import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { decodePostExecTx, encodePostExecTx, isPostExecTx, type PostExecTx } from './postExec.ts'

const TX: PostExecTx = { version: 1, blockNumber: 300, refunds: [{ index: 2, gasRefund: 2_500n }] }

describe('a post-exec transaction', () => {
  it('consists of its type byte and a list', () => {
    expect(toHex(encodePostExecTx(TX))).toBe('0x7dca0182012cc5c4028209c4')
    expect(isPostExecTx(encodePostExecTx(TX))).toBe(true)
  })

  it('survives encoding and decoding', () => {
    const refund = fc.record({ index: fc.nat(), gasRefund: fc.bigInt(0n, 2n ** 64n - 1n) })
    const tx = fc.record({ version: fc.constant(1), blockNumber: fc.maxSafeNat(), refunds: fc.array(refund) })
    fc.assert(
      fc.property(tx, (value) => {
        expect(decodePostExecTx(encodePostExecTx(value))).toEqual(value)
      }),
      { numRuns: propertyRuns(500) },
    )
  })

  it('of another version shows only its version and its block', () => {
    expect(decodePostExecTx(fromHex('0x7dc40282012c'))).toEqual({ version: 2, blockNumber: 300, refunds: [] })
    expect(decodePostExecTx(fromHex('0x7dc6028201' + '2cc101'))).toEqual({ version: 2, blockNumber: 300, refunds: [] })
    expect(() => encodePostExecTx({ ...TX, version: 2 })).toThrow(RangeError)
  })

  it.each([
    ['another type', '0x7eca0182012cc5c4028209c4'],
    ['nothing behind its type', '0x7d'],
    ['no list', '0x7d01'],
    ['bytes behind its list', '0x7dca0182012cc5c4028209c400'],
    ['no refunds', '0x7dc40182012c'],
    ['a field too many', '0x7dcb0182012cc5c4028209c480'],
    ['a version of two bytes', '0x7dc6820100' + '82012c'],
    ['a version with a leading zero', '0x7dcb00' + '0182012cc5c4028209c4'],
    ['a refund without its gas', '0x7dc70182012cc2c102'],
    ['a refund of nine bytes', '0x7dd20182012c' + 'cccb0289010000000000000000'],
  ])('is refused with %s', (_, encoded) => {
    expect(() => decodePostExecTx(fromHex(encoded))).toThrow(DecodeError)
  })
})
