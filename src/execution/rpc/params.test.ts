import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonRpcError, type JsonValue } from '../../jsonRpc/types.ts'
import * as param from './params.ts'
import { readParams } from './params.ts'

const HASH = `0x${'aB'.repeat(32)}`

function failure(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof JsonRpcError) return `${error.rpcCode} ${error.message}`
    throw error
  }
  return 'no error'
}

describe('readParams', () => {
  it.each<[string, param.Param<unknown>[], JsonValue[], string]>([
    ['no parameters', [param.address], [], '-32602 missing value for required argument 0'],
    ['null for a required parameter', [param.address], [null], '-32602 missing value for required argument 0'],
    ['too many parameters', [param.address], [`0x${'11'.repeat(20)}`, 1], '-32602 too many arguments, want at most 1'],
    ['short address', [param.address], ['0x11'], '-32602 invalid argument 0: address: expected 20 bytes'],
    [
      'an invalid second parameter',
      [param.hash, param.flag],
      [HASH, 'yes'],
      '-32602 invalid argument 1: expected true or false',
    ],
    [
      'number as quantity',
      [param.quantity],
      [5],
      '-32602 invalid argument 0: quantity: expected a hex quantity, got 5',
    ],
    ['both block forms', [param.blockSelector], [{ blockHash: HASH, blockNumber: '0x1' }], 'cannot specify both'],
    ['no block form', [param.blockSelector], [{}], '-32602 invalid argument 0: blockHash'],
    ['block number too large', [param.blockNumber], ['0xffffffffffffffff'], 'is larger than 2^53-1'],
    ['odd data', [param.data], ['0x123'], '-32602 invalid argument 0: data: odd number of hex digits'],
    ['data without prefix', [param.data], ['1234'], 'expected hex with 0x prefix'],
    ['long slot', [param.storageSlot], [`0x${'0'.repeat(65)}`], 'want at most 32 bytes'],
  ])('%s', (_, params, given, expected) => {
    expect(failure(() => readParams(params, given))).toContain(expected)
  })

  it('fills in optional parameters', () => {
    expect(readParams([param.blockSelector, param.optional(param.flag, true)], [])).toEqual([
      { kind: 'label', label: 'latest' },
      true,
    ])
  })

  it('throws only invalid-params errors on arbitrary parameters', () => {
    const all = [param.address, param.hash, param.quantity, param.data, param.flag, param.blockNumber]
    const others = [param.blockSelector, param.storageSlot, param.anyObject, param.index]
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const one of [...all, ...others]) {
          expect(failure(() => readParams([one], [value as JsonValue]))).toMatch(/^no error$|^-32602 /)
        }
      }),
    )
  })
})

describe('blockSelector', () => {
  it.each<[JsonValue, unknown]>([
    ['latest', { kind: 'label', label: 'latest' }],
    ['finalized', { kind: 'label', label: 'finalized' }],
    ['0x0a', { kind: 'number', number: 10 }],
    [HASH, { kind: 'hash', hash: HASH.toLowerCase(), requireCanonical: false }],
    [{ blockNumber: 'safe' }, { kind: 'label', label: 'safe' }],
    [
      { blockNumber: '0x1', blockHash: null },
      { kind: 'number', number: 1 },
    ],
    [
      { blockHash: HASH, blockNumber: null, requireCanonical: null },
      { kind: 'hash', hash: HASH.toLowerCase(), requireCanonical: false },
    ],
    [
      { blockHash: HASH, requireCanonical: true },
      { kind: 'hash', hash: HASH.toLowerCase(), requireCanonical: true },
    ],
  ])('%j', (given, expected) => {
    expect(param.blockSelector.parse(given)).toEqual(expected)
  })
})
