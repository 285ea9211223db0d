import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createLogger } from '../../lib/logger.ts'
import { createRejectionLog } from './rejectionLog.ts'

describe('createRejectionLog', () => {
  it('warns of each reason once a minute, and counts the rest', async () => {
    const clock = new ManualClock(0)
    const lines: string[] = []
    const logger = createLogger({
      level: 'info',
      format: 'json',
      color: false,
      write: (line) => {
        const { lvl, reason, more } = JSON.parse(line)
        lines.push(`${lvl} ${reason} ${more ?? 0}`)
      },
    })
    const log = createRejectionLog({ logger, clock })
    for (let n = 0; n < 5; n++) log('peer', 3, { result: 'reject', reason: 'too-old' })
    log('peer', 3, { result: 'reject', reason: 'wrong-signer', detail: '0x' })
    log('peer', 3, { result: 'ignore', reason: 'already-seen' })
    log('peer', 3, { result: 'ignore', reason: 'internal-error', detail: 'a fault' })
    expect(lines).toEqual(['warn too-old 0', 'warn wrong-signer 0', 'warn internal-error 0'])
    await clock.advance(60_000)
    log('peer', 3, { result: 'reject', reason: 'too-old' })
    expect(lines.at(-1)).toBe('warn too-old 4')
  })
})
