import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { Ban } from '../base/records.ts'
import { createBanMonitor } from './banMonitor.ts'

/** Monitors peers with these scores. `onBan` receives each banned peer and the end of its ban. */
function setUp(scores: Record<string, number>, onBan: (peer: string, ban: Ban) => void | Promise<void>) {
  const clock = new ManualClock(5_000)
  const monitor = createBanMonitor(
    {
      clock,
      logger: silentLogger,
      connected: () => Object.keys(scores),
      score: (peer) => scores[peer] ?? -500,
      mainReason: () => 'some reason',
      isStatic: (peer) => peer === 'static',
      ban: async (peer, ban) => onBan(peer, ban),
    },
    { threshold: -100, durationMs: 3_600_000 },
  )
  monitor.start()
  return { clock, monitor }
}

describe('createBanMonitor', () => {
  it('bans peers below the threshold once a second, but no static or disconnected peer', async () => {
    const scores: Record<string, number> = { good: 0, edge: -100, bad: -100.1, static: -500 }
    const bans: [string, number, string][] = []
    const { clock, monitor } = setUp(scores, (peer, { expiryMs, reason }) => {
      bans.push([peer, expiryMs, reason])
      delete scores[peer]
    })
    monitor.suspect('gone')
    await clock.advance(2_000)
    expect(bans).toEqual([])
    for (let second = 0; second < 10; second++) await clock.advance(1_000)
    expect(bans).toEqual([['bad', 8_000 + 3_600_000, 'score -100.10 is below -100: some reason']])
    monitor.stop()
    scores.good = -1_000
    await clock.advance(60_000)
    expect(bans).toHaveLength(1)
  })

  it('checks a suspect four times a second, for two seconds', async () => {
    const scores = { a: 0, b: 0, c: 0, suspect: -50 }
    const bannedAtMs: number[] = []
    const { clock, monitor } = setUp(scores, () => {
      bannedAtMs.push(clock.now())
      scores.suspect = 0
    })
    monitor.suspect('suspect')
    for (let n = 0; n < 7; n++) await clock.advance(250)
    scores.suspect = -144
    await clock.advance(250)
    expect(bannedAtMs).toEqual([7_000])
    scores.suspect = -144
    await clock.advance(250)
    expect(bannedAtMs).toEqual([7_000])
    monitor.stop()
  })

  it('bans no peer after its stop, even during a check', async () => {
    const banned: string[] = []
    const saving = Promise.withResolvers<void>()
    const { clock, monitor } = setUp({ a: -200, b: -200 }, async (peer) => {
      banned.push(peer)
      await saving.promise
    })
    monitor.suspect('a')
    monitor.suspect('b')
    await clock.advance(250)
    expect(banned).toEqual(['a'])
    monitor.stop()
    saving.resolve()
    await clock.advance(10_000)
    expect(banned).toEqual(['a'])
  })

  it('ignores suspects while it is stopped, and can be stopped before its start', async () => {
    const banned: string[] = []
    const { clock, monitor } = setUp({ good: 0, bad: -200 }, (peer) => void banned.push(peer))
    monitor.stop()
    monitor.stop()
    monitor.suspect('bad')
    monitor.start()
    await clock.advance(250)
    expect(banned).toEqual([])
    monitor.stop()
  })
})
