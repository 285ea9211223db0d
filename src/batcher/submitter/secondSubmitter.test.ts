import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import { SecondSubmitterError, SecondSubmitterWatch } from './secondSubmitter.ts'

const INBOX = `0xff${'00'.repeat(19)}` as const
const FROM = `0x${'33'.repeat(20)}` as const
const never = new AbortController().signal
const hashOf = (nonce: number): Hex => `0x${nonce.toString(16).padStart(64, '0')}`
const batch = (nonce: number): ForeignTx => ({ hash: hashOf(nonce), to: INBOX, nonce, blockNumber: nonce + 100 })

/** An L1 with one transaction in each block. The account's first one is in block 100. */
function setUp() {
  const clock = new ManualClock()
  const fatal: unknown[] = []
  const { logger, of } = createLogRecorder()
  const mined: ForeignTx[] = []
  const pool = { count: 0 }
  const l1 = {
    head: async () => ({ hash: hashOf(1), number: 99 + mined.length, parentHash: hashOf(0), timestamp: 0 }),
    nonceAt: async (_address: Hex, block: 'latest' | 'pending' | number) => {
      if (block === 'latest') return mined.length
      return block === 'pending' ? mined.length + pool.count : Math.max(0, Math.min(mined.length, block - 99))
    },
    transactionsOf: async (_address: Hex, block: number) => mined.filter(({ blockNumber }) => blockNumber === block),
  }
  const watch = new SecondSubmitterWatch(
    { l1, sender: { from: FROM }, clock, logger, onFatal: (error) => fatal.push(error), random: () => 0.5 },
    { watchMs: 10_000 },
  )
  const mine = (to: Hex = INBOX) => mined.push({ ...batch(mined.length), to })
  return { clock, fatal, of, watch, mine, pool, isAlone: () => watch.isAlone(INBOX, never) }
}

it('steps back at a foreign batch, and begins again when there is no other', async () => {
  const { clock, fatal, watch, mine, of, isAlone } = setUp()
  mine()
  expect(watch.note(batch(0), INBOX)).toBe(true)
  expect(of('Another program posted a batch with our account: sending is paused')).toHaveLength(1)
  expect(await isAlone()).toBe(false)
  expect(watch.reason).toContain(
    `transaction ${hashOf(0)} (nonce 0, L1 block 100) is a batch that this program did not send`,
  )
  await clock.advance(14_999)
  expect(await isAlone()).toBe(false)
  await clock.advance(1)
  expect(await isAlone()).toBe(true)
  expect(watch.reason).toBeUndefined()
  // The next watch is longer: the other submitter may post seldom.
  watch.note(batch(0), INBOX)
  await clock.advance(29_999)
  expect(await isAlone()).toBe(false)
  await clock.advance(1)
  expect(await isAlone()).toBe(true)
  expect(fatal).toEqual([])
})

it('ends the program when another batch is posted while it watches, and names it', async () => {
  const { fatal, watch, mine, pool, isAlone } = setUp()
  mine()
  watch.note(batch(0), INBOX)
  // Pool transactions were sent before the watch, whoever sent them.
  pool.count = 1
  expect(await isAlone()).toBe(false)
  mine()
  expect(await isAlone()).toBe(false)
  expect(fatal).toEqual([])
  mine()
  expect(await isAlone()).toBe(false)
  expect(fatal).toEqual([expect.any(SecondSubmitterError)])
  expect(String(fatal[0])).toContain(
    `transaction ${hashOf(2)} (nonce 2, L1 block 102) is a batch that this program did not send`,
  )
})

it('watches before anything is sent: one late batch is no other submitter, two are', async () => {
  const { fatal, mine, isAlone, of } = setUp()
  mine()
  expect(await isAlone()).toBe(true)
  mine(`0x${'11'.repeat(20)}`)
  expect(await isAlone()).toBe(true)
  mine()
  expect(await isAlone()).toBe(false)
  expect(of('Another program posted a batch with our account: sending is paused')[0]).toMatchObject({
    nonce: 2,
  })
  expect(await isAlone()).toBe(false)
  expect(fatal).toEqual([])
  mine()
  expect(await isAlone()).toBe(false)
  expect(String(fatal[0])).toContain('(nonce 3, L1 block 103) is a batch that this program did not send')
})

it('does not count transactions sent before it begins', async () => {
  const { fatal, mine, isAlone, watch, of } = setUp()
  expect(await isAlone()).toBe(true)
  // Our own transaction.
  mine()
  watch.begin()
  expect(await isAlone()).toBe(true)
  expect(of('Another program posted a batch with our account: sending is paused')).toEqual([])
  expect(fatal).toEqual([])
})

it("warns of the operator's own use of the account", () => {
  const { fatal, of, watch } = setUp()
  expect(watch.note({ ...batch(1), to: `0x${'11'.repeat(20)}` }, INBOX)).toBe(false)
  expect(watch.note(batch(1), undefined)).toBe(false)
  expect(fatal).toEqual([])
  expect(of('Another program sends transactions from the account of this batch submitter')).toHaveLength(2)
})
