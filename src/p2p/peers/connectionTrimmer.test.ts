import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { maxPeers } from '../host/host.ts'
import { chooseAtLimit, chooseToTrim, createConnectionTrimmer, type TrimCandidate } from './connectionTrimmer.ts'

const MARKS = { low: 2, high: 4, graceMs: 30_000 }
const NOW = 1_000_000

function peer(id: string, changes: Partial<TrimCandidate> = {}): TrimCandidate {
  return { id, connectedSinceMs: NOW - 60_000, protected: false, inMesh: false, chosen: false, score: 0, ...changes }
}

describe('chooseToTrim', () => {
  it('closes connections down to the low mark: negative scores first, then inbound, then the youngest', () => {
    const peers = [
      peer('chosen', { chosen: true }),
      peer('chosen and bad', { chosen: true, score: -0.5 }),
      peer('good', { score: 3 }),
      peer('bad', { score: -1 }),
      peer('young', { connectedSinceMs: NOW - 40_000 }),
      peer('old', { connectedSinceMs: NOW - 90_000 }),
      peer('best', { chosen: true, score: 5 }),
    ]
    const all = { ...MARKS, low: 0 }
    expect(chooseToTrim(peers, all, NOW)).toEqual(['bad', 'chosen and bad', 'young', 'old', 'good', 'chosen', 'best'])
    expect(chooseToTrim(peers, MARKS, NOW)).toHaveLength(5)
    expect(chooseToTrim(peers.slice(0, 4), MARKS, NOW)).toEqual([])
  })

  it('keeps protected peers, mesh peers and new peers', () => {
    const peers = [
      peer('a', { protected: true, score: -9 }),
      peer('b', { connectedSinceMs: NOW - 29_999, score: -9 }),
      peer('c'),
      peer('d'),
      peer('e', { protected: true }),
      peer('f', { inMesh: true, score: -9 }),
    ]
    expect(chooseToTrim(peers, MARKS, NOW)).toEqual(['c', 'd'])
  })
})

it('chooseAtLimit closes down to the high mark, also new peers, and keeps protected and mesh peers', () => {
  const peers = [
    peer('mesh', { inMesh: true, score: -9 }),
    peer('static', { protected: true }),
    ...Array.from({ length: 6 }, (_, index) => peer(`new ${index}`, { connectedSinceMs: NOW - index })),
    peer('old'),
  ]
  expect(chooseAtLimit(peers, MARKS)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4'])
  expect(chooseAtLimit(peers.slice(0, 3), MARKS)).toEqual([])
})

describe('createConnectionTrimmer', () => {
  function setUp(count: number) {
    const clock = new ManualClock(NOW)
    const connected = new Map(Array.from({ length: count }, (_, index) => [`p${index}`, peer(`p${index}`)]))
    const trimmer = createConnectionTrimmer(
      {
        clock,
        logger: silentLogger,
        peers: () => [...connected.values()],
        close: async (id) => void connected.delete(id),
      },
      MARKS,
    )
    return { clock, connected, trimmer }
  }

  it('checks the number of connections once a minute', async () => {
    const { clock, connected, trimmer } = setUp(2)
    trimmer.start()
    for (let round = 0; round < 2; round++) {
      for (const id of ['x', 'y', 'z']) connected.set(`${id}${round}`, peer(`${id}${round}`))
      await clock.advance(59_000)
      expect(connected.size).toBe(5)
      await clock.advance(1_000)
      expect(connected.size).toBe(2)
    }
    for (const id of ['u', 'v', 'w']) connected.set(id, peer(id))
    trimmer.stop()
    await clock.advance(120_000)
    expect(connected.size).toBe(5)
  })

  it('closes peers at the limit, but not for every new connection', async () => {
    const limit = maxPeers(MARKS.high)
    const { clock, connected, trimmer } = setUp(limit)
    trimmer.relieve()
    expect(connected.size).toBe(MARKS.high)
    for (let index = 0; connected.size < limit; index++) connected.set(`q${index}`, peer(`q${index}`))
    trimmer.relieve()
    expect(connected.size).toBe(limit)
    await clock.advance(10_000)
    trimmer.relieve()
    expect(connected.size).toBe(MARKS.high)
  })
})
