import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createP2pEvents } from '../base/events.ts'
import type { Verdict } from '../base/verdict.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { logRejections } from './rejectionLog.ts'

it('a rejection reason is logged once a minute, with the count of further rejections', async () => {
  const clock = new ManualClock(0)
  const { logger, lines } = recordedLog('info', 'json')
  const logged = () =>
    lines.map((line) => {
      const { lvl, reason, more } = JSON.parse(line)
      return `${lvl} ${reason} ${more ?? 0}`
    })
  const events = createP2pEvents({ logger })
  logRejections(events, { logger, clock })
  const emit = (verdict: Verdict) => events.emit('verdict', 'peer', 3, verdict)
  for (let n = 0; n < 5; n++) emit({ result: 'reject', reason: 'too-old' })
  emit({ result: 'reject', reason: 'wrong-signer', detail: '0x' })
  emit({ result: 'ignore', reason: 'already-seen' })
  emit({ result: 'ignore', reason: 'internal-error', detail: 'a fault' })
  expect(logged()).toEqual(['warn too-old 0', 'warn wrong-signer 0', 'warn internal-error 0'])
  await clock.advance(60_000)
  emit({ result: 'reject', reason: 'too-old' })
  expect(logged().at(-1)).toBe('warn too-old 4')
})
