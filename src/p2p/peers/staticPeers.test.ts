import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createLogger } from '../../lib/logger.ts'
import { parsePeerAddress } from '../host/multiaddrs.ts'
import { createStaticPeers } from './staticPeers.ts'

const ID = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'

function setUp(addresses = [`/ip4/1.2.3.4/tcp/1/p2p/${ID}`]) {
  const clock = new ManualClock(0)
  const lines: string[] = []
  const reasons: unknown[] = []
  /** The logged values. */
  const away: unknown[] = []
  const state = {
    connected: false,
    reachable: false,
    /** A network that drops all packets. */
    silent: false,
    closedOlder: 0,
    dials: [] as { atMs: number; addresses: number; beside?: true }[],
  }
  const logger = createLogger({
    level: 'info',
    format: 'json',
    color: false,
    write: (line) => {
      const { lvl, msg, reason, awaySeconds } = JSON.parse(line)
      reasons.push(reason)
      if (awaySeconds !== undefined) away.push(awaySeconds)
      lines.push(`${lvl}: ${msg}`)
    },
  })
  const staticPeers = createStaticPeers(
    {
      clock,
      logger,
      dialer: {
        isConnected: (id) => id === ID && state.connected,
        async dial(addresses, signal, { beside }) {
          state.dials.push({ atMs: clock.now(), addresses: addresses.length, ...(beside ? { beside } : {}) })
          if (state.silent) await new Promise((_, reject) => signal.addEventListener('abort', reject))
          if (!state.reachable) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
          if (!state.connected) staticPeers.onConnected(ID)
          state.connected = true
        },
        closeOlder() {
          state.closedOlder += 1
        },
      },
      onDialFailed: () => {},
    },
    addresses.map(parsePeerAddress),
  )
  const fall = (by: 'us' | 'peer' = 'peer') => {
    state.connected = false
    staticPeers.onDisconnected(ID, { by, cause: 'closed' })
  }
  /** Advances in steps, as in a running node. With `connected` it stops early. */
  const pass = async (steps: number, stepMs: number, until?: 'connected') => {
    for (let step = 0; step < steps && (until === undefined || !state.connected); step++) await clock.advance(stepMs)
  }
  /** A stable connection. */
  const stand = async () => {
    state.reachable = true
    staticPeers.start()
    await clock.advance(10_000)
  }
  return { away, clock, lines, reasons, state, staticPeers, fall, pass, stand }
}

describe('createStaticPeers', () => {
  it('redials without end, with growing pauses of at most five seconds', async () => {
    const { state, staticPeers, pass } = setUp()
    staticPeers.start()
    await pass(120, 1_000)
    const pauses = state.dials.slice(1).map(({ atMs }, index) => atMs - (state.dials[index]?.atMs ?? 0))
    expect(pauses[0]).toBeLessThan(1_000)
    for (const pause of pauses) expect(pause).toBeLessThanOrEqual(5_250)
    expect(pauses.at(-1)).toBeGreaterThanOrEqual(5_000)
    expect(state.dials.length).toBeGreaterThan(12)
  })

  it('redials at once when an established connection closes', async () => {
    const { clock, state, fall, stand } = setUp()
    await stand()
    fall()
    await clock.advance(0)
    expect(state.dials.map(({ atMs }) => atMs)).toEqual([0, 10_000])
  })

  it.each(['refused', 'silent'])('a static peer is connected again soon after a short outage: %s', async (outage) => {
    const { state, fall, pass, stand } = setUp()
    await stand()
    fall()
    state.reachable = false
    state.silent = outage === 'silent'
    await pass(30, 100)
    state.reachable = true
    state.silent = false
    await pass(12, 100, 'connected')
    expect(state.connected).toBe(true)
  })

  it('redials at once after a long outage has ended', async () => {
    const { state, fall, pass, stand } = setUp()
    await stand()
    fall()
    state.reachable = false
    await pass(120, 1_000)
    state.reachable = true
    await pass(60, 100, 'connected')
    fall()
    await pass(8, 100, 'connected')
    expect(state.connected).toBe(true)
  })

  it('dials a second connection while one is silent, and closes the silent one when it is open', async () => {
    const { clock, state, staticPeers, pass, stand } = setUp()
    await stand()
    state.silent = true
    staticPeers.onSuspect(ID)
    await pass(30, 100)
    expect(state.dials.length).toBeGreaterThan(2)
    expect(state.closedOlder).toBe(0)
    state.silent = false
    await pass(15, 100)
    expect(state.dials.at(-1)).toMatchObject({ beside: true })
    expect(state.closedOlder).toBe(1)
    const dials = state.dials.length
    await clock.advance(60_000)
    expect(state.dials).toHaveLength(dials)
  })

  it('stops dialling when the silent connection gives a sign of life', async () => {
    const { clock, state, staticPeers, stand } = setUp()
    await stand()
    state.reachable = false
    staticPeers.onSuspect(ID)
    await clock.advance(0)
    staticPeers.onAlive(ID)
    await clock.advance(60_000)
    expect(state.dials).toHaveLength(2)
    expect(state.closedOlder).toBe(0)
    staticPeers.onSuspect(ID)
    await clock.advance(0)
    expect(state.dials).toHaveLength(3)
  })

  it('does not suspect a disconnected peer, and no peer twice', async () => {
    const { clock, state, staticPeers, fall, stand } = setUp()
    await stand()
    state.silent = true
    staticPeers.onSuspect(ID)
    await clock.advance(0)
    staticPeers.onSuspect(ID)
    await clock.advance(0)
    expect(state.dials).toHaveLength(2)
    fall()
    staticPeers.onSuspect(ID)
    state.silent = false
    await clock.advance(6_000)
    expect(state.dials.slice(2)).toEqual([{ atMs: 11_250, addresses: 1 }])
  })

  it('waits before it redials a peer that closes right after connecting', async () => {
    const { clock, state, staticPeers, fall } = setUp()
    state.reachable = true
    staticPeers.start()
    for (let step = 0; step < 300; step++) {
      await clock.advance(100)
      if (state.connected) fall()
    }
    expect(state.dials.length).toBeLessThan(12)
    expect(state.dials.length).toBeGreaterThan(4)
    // A peer that lets us stay connected, or that the operator acts on, is handled as any other.
    const dialsAfter = async (step: () => void): Promise<number> => {
      const before = state.dials.length
      step()
      await clock.advance(0)
      if (state.connected) fall()
      await clock.advance(1_000)
      return state.dials.length - before
    }
    expect(await dialsAfter(() => staticPeers.retryNow(ID))).toBe(2)
    for (let step = 0; step < 100 && !state.connected; step++) await clock.advance(100)
    await clock.advance(2_000)
    expect(await dialsAfter(fall)).toBe(2)
  })

  it('logs once that a peer is not connected, and then once a minute', async () => {
    const { lines, reasons, staticPeers, pass } = setUp()
    staticPeers.start()
    await pass(150, 1_000)
    expect(lines).toEqual([
      'info: Static peer is not reachable yet, trying again',
      'warn: Static peer is disconnected, still trying',
      'warn: Static peer is disconnected, still trying',
    ])
    expect(reasons).toEqual(['refused', 'refused', 'refused'])
  })

  it('logs a reconnection once it is stable', async () => {
    const { away, clock, lines, state, staticPeers, fall, pass } = setUp()
    staticPeers.start()
    await pass(10, 1_000)
    state.reachable = true
    await pass(10, 1_000, 'connected')
    await clock.advance(1_000)
    fall()
    await pass(10, 1_000, 'connected')
    expect(lines.splice(0)).toEqual(['info: Static peer is not reachable yet, trying again'])
    await clock.advance(2_000)
    expect(lines.splice(0)).toEqual(['info: Static peer is connected'])
    // Counted from the start, since an early-closed connection does not reset it.
    expect(away.splice(0)[0]).toBeGreaterThan(10)
    await clock.advance(60_000)
    fall()
    await clock.advance(2_000)
    expect(lines).toEqual(['info: Static peer disconnected, reconnecting', 'info: Static peer is connected'])
    expect(away).toEqual([0])
  })

  it('logs that a second connection failed, is open, or that the silent one recovered', async () => {
    const { away, clock, lines, state, staticPeers, fall, pass, stand } = setUp()
    await stand()
    for (const isAlive of [true, false]) {
      state.reachable = false
      staticPeers.onSuspect(ID)
      await pass(20, 1_000)
      expect(lines.splice(0)).toEqual(['info: Static peer is silent, and a second connection failed'])
      if (isAlive) staticPeers.onAlive(ID)
      else state.reachable = true
      await pass(10, 1_000)
      expect(lines.splice(0)).toEqual(['info: Static peer is connected'])
      expect(away.splice(0)[0]).toBeGreaterThanOrEqual(20)
    }
    state.reachable = false
    fall()
    staticPeers.stop()
    await clock.advance(60_000)
    expect(lines).toEqual(['info: Static peer disconnected, reconnecting'])
  })

  it.each([
    ['peer', ['closed-early']],
    ['us', []],
  ] as const)('logs that a peer closes right after connecting, unless we closed: %s', async (by, said) => {
    const { clock, reasons, state, staticPeers, fall } = setUp()
    state.reachable = true
    staticPeers.start()
    await clock.advance(0)
    await clock.advance(20)
    fall(by)
    expect(reasons).toEqual(said)
  })

  it('dials all addresses of a peer in one dial', async () => {
    const { clock, state, staticPeers } = setUp([`/ip4/1.2.3.4/tcp/1/p2p/${ID}`, `/ip4/1.2.3.5/tcp/1/p2p/${ID}`])
    staticPeers.start()
    await clock.advance(0)
    expect(state.dials).toEqual([{ atMs: 0, addresses: 2 }])
  })

  it('dials at once on request, and not after its stop', async () => {
    const { clock, state, staticPeers, pass } = setUp()
    staticPeers.start()
    await pass(60, 1_000)
    const before = state.dials.length
    staticPeers.retryNow(ID)
    await clock.advance(0)
    expect(state.dials).toHaveLength(before + 1)
    staticPeers.stop()
    await clock.advance(60_000)
    expect(state.dials).toHaveLength(before + 1)
  })
})
