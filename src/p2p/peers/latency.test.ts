import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createLatencyTracker } from './latency.ts'

function setUp(peers: readonly string[], rttOf: (peer: string) => number) {
  const clock = new ManualClock(0)
  const connected = new Set(peers)
  const pings: string[] = []
  const tracker = createLatencyTracker({
    clock,
    logger: silentLogger,
    connected: () => [...connected],
    isConnected: (peer) => connected.has(peer),
    async ping(peer) {
      pings.push(peer)
      return rttOf(peer)
    },
  })
  tracker.start()
  return { clock, connected, pings, tracker }
}
const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `peer${n}`)

describe('createLatencyTracker', () => {
  it('pings every peer every three minutes, and smooths the result', async () => {
    let rttMs = 10
    const { clock, pings, tracker } = setUp(['a', 'b'], (peer) => {
      if (peer === 'b') throw new Error('no answer')
      return rttMs
    })
    await clock.advance(179_000)
    expect(pings).toEqual([])
    await clock.advance(1_000)
    expect(pings).toEqual(['a', 'b'])
    expect(tracker.latencyMs('a')).toBe(10)
    expect(tracker.latencyMs('b')).toBeUndefined()
    rttMs = 20
    await clock.advance(180_000)
    expect(tracker.latencyMs('a')).toBe(11)
    tracker.forget('a')
    expect(tracker.latencyMs('a')).toBeUndefined()
    tracker.stop()
    await clock.advance(600_000)
    expect(pings).toHaveLength(4)
  })

  it('pings a new peer once the tracker runs', async () => {
    const { pings, tracker } = setUp(['a'], () => 10)
    tracker.onConnected('a')
    await Promise.resolve()
    expect(pings).toEqual(['a'])
    await Promise.resolve()
    expect(tracker.latencyMs('a')).toBe(10)
    tracker.stop()
  })

  it('sends ten pings at once, then one a second', async () => {
    const { clock, pings, tracker } = setUp(many(13), () => 1)
    await clock.advance(180_000)
    expect(pings).toHaveLength(11)
    await clock.advance(1_000)
    expect(pings).toHaveLength(12)
    await clock.advance(60_000)
    expect(pings).toHaveLength(13)
    tracker.stop()
  })

  it('does not dial disconnected peers, and forgets their latency', async () => {
    const { clock, connected, pings, tracker } = setUp(many(12), (peer) => {
      if (peer === 'peer10') {
        connected.delete(peer)
        tracker.forget(peer)
      }
      return 1
    })
    await clock.advance(180_000)
    expect(tracker.latencyMs('peer10')).toBeUndefined()
    connected.delete('peer11')
    await clock.advance(2_000)
    expect(pings).not.toContain('peer11')
    tracker.stop()
  })
})
