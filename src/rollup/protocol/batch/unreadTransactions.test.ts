import { describe, expect, it } from 'vitest'
import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { toHex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { checkTransactions, decodePayloadSsz, encodePayloadSsz, transactionsPlace } from '../payload/payloadSsz.ts'
import { EMPTY_PAYLOAD } from '../testUtils/payload.ts'
import type { ExecutionPayload } from '../types.ts'
import { hasMoreThanL1Info, transactionTotals, withUnreadTransactions } from './unreadTransactions.ts'

const TRANSACTIONS = [Uint8Array.of(1, 2, 3), EMPTY_BYTES, Uint8Array.of(4)]

/** The payload as another process returns it, and the list that contains its transactions. */
function unread(transactions: Uint8Array[]): { whole: ExecutionPayload; list: Uint8Array; payload: ExecutionPayload } {
  const whole = { ...EMPTY_PAYLOAD, transactions }
  const body = encodePayloadSsz(whole, 1)
  const place = transactionsPlace(body, 1)
  const list = body.subarray(place?.start, place?.end)
  return { whole, list, payload: withUnreadTransactions(decodePayloadSsz(body, 1, checkTransactions), list) }
}

describe('unread transactions', () => {
  it('are decoded on demand, each time to the same list', () => {
    const { whole, payload } = unread(TRANSACTIONS)
    expect(payload.transactions.map(toHex)).toEqual(TRANSACTIONS.map(toHex))
    expect(payload.transactions).toBe(payload.transactions)
    expect(toHex(encodePayloadSsz({ ...payload }, 1))).toBe(toHex(encodePayloadSsz(whole, 1)))
  })

  it('are counted without decoding', () => {
    const { list, payload } = unread(TRANSACTIONS)
    // Overwrites the offsets, so that the transactions cannot be decoded.
    list.fill(0xff, 4, 12)
    expect(transactionTotals(payload)).toEqual({ count: 3, bytes: 4 })
    expect(() => payload.transactions).toThrow(errorWith('decode', 'transaction 0'))
  })

  it('of an empty list are empty', () => {
    const { payload } = unread([])
    expect(transactionTotals(payload)).toEqual({ count: 0, bytes: 0 })
    expect(payload.transactions).toEqual([])
  })

  it('have the same count after decoding', () => {
    expect(transactionTotals(unread(TRANSACTIONS).whole)).toEqual({ count: 3, bytes: 4 })
  })
})

it('a block has user transactions if it has more than its first deposit', () => {
  expect([0, 1, 2].map(hasMoreThanL1Info)).toEqual([false, false, true])
})
