import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createBanMonitor } from './banMonitor.ts'

describe('createBanMonitor', () => {
  it('bans what is below the threshold, one peer a second, but nobody static or gone', async () => {
    const clock = new ManualClock(5_000)
    const scores: Record<string, number> = { good: 0, edge: -100, bad: -100.1, static: -500 }
    const bans: [string, number, string][] = []
    const monitor = createBanMonitor(
      {
        clock,
        logger: silentLogger,
        connected: () => Object.keys(scores),
        score: (peer) => scores[peer] ?? -500,
        mainReason: () => 'some reason',
        isStatic: (peer) => peer === 'static',
        async ban(peer, { expiryMs, reason }) {
          bans.push([peer, expiryMs, reason])
          delete scores[peer]
        },
      },
      { threshold: -100, durationMs: 3_600_000 },
    )
    monitor.start()
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

  it('looks at a suspect four times a second, for two seconds', async () => {
    const clock = new ManualClock(5_000)
    let score = -50
    const bannedAtMs: number[] = []
    const monitor = createBanMonitor(
      {
        clock,
        logger: silentLogger,
        connected: () => ['a', 'b', 'c', 'suspect'],
        score: (peer) => (peer === 'suspect' ? score : 0),
        mainReason: () => 'some reason',
        isStatic: () => false,
        async ban() {
          bannedAtMs.push(clock.now())
          score = 0
        },
      },
      { threshold: -100, durationMs: 3_600_000 },
    )
    monitor.start()
    monitor.suspect('suspect')
    for (let n = 0; n < 7; n++) await clock.advance(250)
    score = -144
    await clock.advance(250)
    expect(bannedAtMs).toEqual([7_000])
    score = -144
    await clock.advance(250)
    expect(bannedAtMs).toEqual([7_000])
    monitor.stop()
  })

  it('bans nobody after its stop, though it was at it', async () => {
    const clock = new ManualClock(0)
    const banned: string[] = []
    const saving = Promise.withResolvers<void>()
    const monitor = createBanMonitor(
      {
        clock,
        logger: silentLogger,
        connected: () => ['a', 'b'],
        score: () => -200,
        mainReason: () => 'a test',
        isStatic: () => false,
        async ban(peerId) {
          banned.push(peerId)
          await saving.promise
        },
      },
      { threshold: -100, durationMs: 1_000 },
    )
    monitor.start()
    monitor.suspect('a')
    monitor.suspect('b')
    await clock.advance(250)
    expect(banned).toEqual(['a'])
    monitor.stop()
    saving.resolve()
    await clock.advance(10_000)
    expect(banned).toEqual(['a'])
  })
})
