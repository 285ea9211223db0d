import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createP2pEvents } from '../base/events.ts'
import type { Verdict } from '../base/verdict.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { logRejections } from './rejectionLog.ts'

it('rejections are warned of once a minute for each reason, and the rest are counted', async () => {
  const clock = new ManualClock(0)
  const { logger, lines } = recordedLog('info', 'json')
  const told = () =>
    lines.map((line) => {
      const { lvl, reason, more } = JSON.parse(line)
      return `${lvl} ${reason} ${more ?? 0}`
    })
  const events = createP2pEvents({ logger })
  logRejections(events, { logger, clock })
  const tell = (verdict: Verdict) => events.emit('verdict', 'peer', 3, verdict)
  for (let n = 0; n < 5; n++) tell({ result: 'reject', reason: 'too-old' })
  tell({ result: 'reject', reason: 'wrong-signer', detail: '0x' })
  tell({ result: 'ignore', reason: 'already-seen' })
  tell({ result: 'ignore', reason: 'internal-error', detail: 'a fault' })
  expect(told()).toEqual(['warn too-old 0', 'warn wrong-signer 0', 'warn internal-error 0'])
  await clock.advance(60_000)
  tell({ result: 'reject', reason: 'too-old' })
  expect(told().at(-1)).toBe('warn too-old 4')
})
