import { describe, expect, it } from 'vitest'
import type { Hex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import {
  decodeEip1559Params,
  decodeExtraData,
  decodeOperatorFeeParams,
  decodeScalar,
  encodeEip1559Params,
  encodeExtraData,
  encodeOperatorFeeParams,
  encodeScalar,
} from './scalars.ts'

const word = (end: string, version = '00'): Hex => `0x${version}${end.padStart(62, '0')}`

describe('the scalar', () => {
  it.each<[Hex, number, number]>([
    [word('0a6f'), 0x0a6f, 0],
    [word('ffffffff'), 0xffff_ffff, 0],
    // Does not fit u32: it becomes the maximum, as in op-node.
    [word('100000001'), 0xffff_ffff, 0],
    [word('0000000300000002', '01'), 2, 3],
  ])('of %s', (scalar, baseFeeScalar, blobBaseFeeScalar) => {
    expect(decodeScalar(scalar)).toEqual({ baseFeeScalar, blobBaseFeeScalar })
  })

  it('is refused with an unknown version', () => {
    expect(() => decodeScalar(word('0', '02'))).toThrow(errorWith('decode', 'version 2'))
    expect(encodeScalar({ baseFeeScalar: 2, blobBaseFeeScalar: 3 })).toBe(word('0000000300000002', '01'))
  })
})

it('the operator fee survives encoding and decoding, also if it is absent', () => {
  const fee = { scalar: 2, constant: 3n }
  const params = word('000000020000000000000003')
  expect(decodeOperatorFeeParams(params)).toEqual(fee)
  expect(encodeOperatorFeeParams(fee)).toBe(params)
  expect(decodeOperatorFeeParams(undefined)).toEqual({ scalar: 0, constant: 0n })
})

it('the parameters of the base fee survive encoding and decoding', () => {
  const params = { denominator: 250, elasticity: 6 }
  expect(decodeEip1559Params('0x000000fa00000006')).toEqual(params)
  expect(encodeEip1559Params(params)).toBe('0x000000fa00000006')
})

describe('extra data', () => {
  const HOLOCENE = '0x00000000fa00000006'
  const JOVIAN = '0x01000000fa000000060000000000000007'
  const params = { denominator: 250, elasticity: 6 }

  it('survives encoding and decoding under the rules of its fork', () => {
    expect(decodeExtraData(HOLOCENE, 'holocene')).toStrictEqual(params)
    expect(decodeExtraData(JOVIAN, 'jovian')).toStrictEqual({ ...params, minBaseFee: 7n })
    expect(encodeExtraData(params)).toBe(HOLOCENE)
    expect(encodeExtraData({ ...params, minBaseFee: 7n })).toBe(JOVIAN)
  })

  it.each<[Hex, 'holocene' | 'jovian', (string | number)[]]>([
    [HOLOCENE, 'jovian', [17, 9]],
    [JOVIAN, 'holocene', [9, 17]],
    ['0x01000000fa00000006', 'holocene', ['version', 0, 1]],
    ['0x000000000000000006', 'holocene', ['denominator']],
    ['0x00000000fa00000000', 'holocene', ['elasticity']],
  ])('%s is refused under the rules of %s', (extraData, fork, named) => {
    expect(() => decodeExtraData(extraData, fork)).toThrow(errorWith('decode', fork, ...named))
  })
})
