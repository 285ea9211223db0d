import { describe, expect, it } from 'vitest'
import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { runNow } from '../../../lib/slicedTask.ts'
import { encodeSingularBatch, singularBatchSteps } from '../batch/singularBatch.ts'
import { ZERO_HASH } from '../types.ts'
import { type MarkedTransactions, marksOf, noMarks, type TransactionList } from './transactionList.ts'

const LEGACY = Uint8Array.of(0xf8, 1)
const DEPOSIT = Uint8Array.of(0x7e, 2)
const SET_CODE = Uint8Array.of(4, 3)
const POST_EXEC = Uint8Array.of(0x7d, 4)

/** The transactions as a decoded batch returns them. */
function packed(transactions: Uint8Array[]): TransactionList {
  const batch = { parentHash: ZERO_HASH, epochNumber: 0, epochHash: ZERO_HASH, timestamp: 0, transactions }
  return runNow(singularBatchSteps(encodeSingularBatch(batch))).transactions
}

describe.each([
  { list: 'an array', of: (transactions: Uint8Array[]): TransactionList => transactions },
  { list: 'a batch', of: packed },
])('transactions of $list', ({ of }) => {
  it.each<[string, Uint8Array[], Partial<MarkedTransactions>]>([
    ['nothing', [], {}],
    ['nothing in others', [LEGACY, LEGACY], {}],
    ['an empty one', [LEGACY, EMPTY_BYTES, EMPTY_BYTES], { empty: 1 }],
    ['a deposit', [DEPOSIT, DEPOSIT, LEGACY], { deposit: 0 }],
    ['one that sets code', [LEGACY, LEGACY, SET_CODE, SET_CODE], { setCode: 2 }],
    ['a synthetic one', [LEGACY, POST_EXEC, POST_EXEC], { postExec: 1 }],
    ['all', [POST_EXEC, SET_CODE, DEPOSIT, EMPTY_BYTES], { empty: 3, deposit: 2, setCode: 1, postExec: 0 }],
  ])('records the first of each kind: %s', (_, transactions, marks) => {
    expect(marksOf(of(transactions))).toStrictEqual({ ...noMarks(), ...marks })
  })

  it('are returned by position, and undefined outside of the list', () => {
    const list = of([LEGACY, EMPTY_BYTES, SET_CODE])
    expect(list.length).toBe(3)
    expect([0, 1, 2, 3].map((index) => list.at(index))).toEqual([LEGACY, EMPTY_BYTES, SET_CODE, undefined])
    expect(list.slice()).toEqual([LEGACY, EMPTY_BYTES, SET_CODE])
    expect(list.slice(1, 2)).toEqual([EMPTY_BYTES])
    expect(list.slice(2, 9)).toEqual([SET_CODE])
  })
})

it('a batch has no transaction before its first', () => {
  expect(packed([LEGACY]).at(-1)).toBeUndefined()
})

it('a batch returns each of many transactions', () => {
  // More transactions than one chunk of the list holds.
  const many = Array.from({ length: 70_000 }, (_, n) => Uint8Array.of(0xf8, n & 0xff, n >>> 8))
  const list = packed(many)
  expect(Buffer.compare(Buffer.concat(list.slice()), Buffer.concat(many))).toBe(0)
  expect([31, 32, 65_535, 65_536].map((n) => list.at(n))).toEqual([31, 32, 65_535, 65_536].map((n) => many[n]))
})
