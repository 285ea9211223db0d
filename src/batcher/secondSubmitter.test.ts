import { expect, it } from 'vitest'
import { ManualClock } from '../lib/clock.ts'
import { SecondSubmitterError, SecondSubmitterWatch } from './secondSubmitter.ts'
import { createLogRecorder } from './testUtils/logRecorder.ts'

const INBOX = `0xff${'00'.repeat(19)}` as const
const batch = { hash: `0x${'ab'.repeat(32)}`, to: INBOX, nonce: 7, blockNumber: 40 } as const

function setUp() {
  const clock = new ManualClock()
  const fatal: unknown[] = []
  const { logger, of } = createLogRecorder()
  return { clock, fatal, of, watch: new SecondSubmitterWatch({ clock, logger, onFatal: (error) => fatal.push(error) }) }
}

it('ends the program at the second foreign batch, which it names, but not at the first or at two of one moment', async () => {
  const { clock, fatal, of, watch } = setUp()
  watch.note(batch, INBOX)
  await clock.advance(29_999)
  watch.note(batch, INBOX)
  expect(fatal).toEqual([])
  expect(of('A batch was posted with our account that is not ours')).toHaveLength(2)
  await clock.advance(1)
  watch.note(batch, INBOX)
  expect(fatal[0]).toBeInstanceOf(SecondSubmitterError)
  expect(String(fatal[0])).toContain(`transaction ${batch.hash} (nonce 7, L1 block 40) is a batch that is not ours`)
})

it('forgets a foreign batch after a while', async () => {
  const { clock, fatal, watch } = setUp()
  watch.note(batch, INBOX)
  await clock.advance(600_001)
  watch.note(batch, INBOX)
  expect(fatal).toEqual([])
})

it("warns of the operator's own use of the account", () => {
  const { fatal, of, watch } = setUp()
  watch.note({ ...batch, to: `0x${'11'.repeat(20)}` }, INBOX)
  expect(fatal).toEqual([])
  expect(of('Somebody else sends transactions from the account of this batch submitter')).toHaveLength(1)
})
