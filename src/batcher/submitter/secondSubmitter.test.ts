import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import { SecondSubmitterWatch } from './secondSubmitter.ts'

const INBOX = `0xff${'00'.repeat(19)}` as const
const PAUSED = 'Another program posted a batch with our account: sending is paused'
const batch = (nonce: number): ForeignTx => ({
  hash: `0x${nonce.toString(16).padStart(64, '0')}`,
  to: INBOX,
  nonce,
  blockNumber: nonce + 100,
})

function setUp() {
  const clock = new ManualClock()
  const fatal: unknown[] = []
  const { logger, of } = createLogRecorder()
  const watch = new SecondSubmitterWatch({ clock, logger, onFatal: (error) => fatal.push(error) })
  const note = (tx: ForeignTx, change: { batchInbox?: undefined; isPaused?: boolean } = {}) =>
    watch.note(tx, { batchInbox: INBOX, isPaused: false, ...change })
  return { clock, fatal, of, note }
}

it('abandons all sends at the first foreign batch', () => {
  const { fatal, of, note } = setUp()
  expect(note(batch(0))).toBe(true)
  expect(of(PAUSED)).toMatchObject([{ tx: batch(0).hash, nonce: 0, block: 100 }])
  expect(fatal).toEqual([])
})

it('ends the program at the second foreign batch within an hour, and names the batch', async () => {
  const { clock, fatal, note } = setUp()
  note(batch(0))
  await clock.advance(3_599_999)
  expect(note(batch(2))).toBe(true)
  expect(fatal).toMatchObject([{ code: 'second-submitter', severity: 'critical' }])
  for (const part of [batch(2).hash, 'nonce 2', 'L1 block 102']) expect(String(fatal[0])).toContain(part)
})

it('counts foreign batches as one while nothing is sent', () => {
  const { fatal, note } = setUp()
  expect(note(batch(0))).toBe(true)
  expect(note(batch(1), { isPaused: true })).toBe(false)
  expect(fatal).toEqual([])
})

it('forgets a foreign batch after an hour', async () => {
  const { clock, fatal, note } = setUp()
  note(batch(0))
  await clock.advance(3_600_000)
  note(batch(1))
  expect(fatal).toEqual([])
})

it('does not count transactions that are no batches', () => {
  const { fatal, of, note } = setUp()
  expect(note({ ...batch(1), to: `0x${'11'.repeat(20)}` })).toBe(false)
  expect(note(batch(1), { batchInbox: undefined })).toBe(false)
  expect(note(batch(2))).toBe(true)
  expect(fatal).toEqual([])
  expect(of('Another program sends transactions from the account of this batch submitter')).toHaveLength(2)
})
