import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { ExternalReach } from '../discovery/ownNode.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { type MappingRequest, type NatRouter, NatRouterError } from './natRouter.ts'
import { createPortMapper } from './portMapper.ts'

const MINUTE_MS = 60_000

/** A router in memory that maps each port to one 1000 higher. */
function router() {
  const state = {
    ip: '203.0.113.7',
    externalIp: undefined as (() => Promise<string>) | undefined,
    isThere: true,
    refused: new Set<string>(),
    lifetimeS: undefined as number | undefined,
    mapped: new Map<string, MappingRequest>(),
    finds: 0,
  }
  const answer = async <T>(run: () => T): Promise<T> => {
    if (!state.isThere) throw new NatRouterError('no-answer', 'nobody there')
    return run()
  }
  const natRouter: NatRouter = {
    name: 'test',
    externalIp: () => state.externalIp?.() ?? answer(() => state.ip),
    map: (request) =>
      answer(() => {
        if (state.refused.has(request.protocol)) throw new NatRouterError('refused', 'not this one')
        state.mapped.set(request.protocol, request)
        const externalPort =
          request.externalPort === request.internalPort ? request.internalPort + 1000 : request.externalPort
        return { externalPort, lifetimeS: state.lifetimeS ?? request.lifetimeS }
      }),
    unmap: ({ protocol }) => answer(() => void state.mapped.delete(protocol)),
  }
  const findNatRouter = (): Promise<NatRouter> => {
    state.finds += 1
    return answer(() => natRouter)
  }
  return { state, findNatRouter }
}

function setUp() {
  const { state, findNatRouter } = router()
  const clock = new ManualClock(0)
  const heard: (ExternalReach | undefined)[] = []
  const { logger, lines } = recordedLog()
  const mapper = createPortMapper({ findNatRouter, clock, logger, onChange: (address) => heard.push(address) })
  onTestFinished(mapper.stop)
  const warnings = (): string[] => lines.filter((line) => line.includes('lvl=warn'))
  const start = (udp?: number): Promise<void> => {
    mapper.start({ tcp: 9222, udp })
    return clock.advance(0)
  }
  return { state, clock, heard, mapper, start, warnings }
}

const BOTH = { ip: '203.0.113.7', tcpPort: 10_222, udpPort: 10_300 }

describe('port mapper', () => {
  it('maps both ports, renews them in time, and removes them when it stops', async () => {
    const { state, clock, heard, mapper, start, warnings } = setUp()
    await start(9300)
    expect(heard).toEqual([BOTH])
    expect([...state.mapped.values()].map(({ lifetimeS }) => lifetimeS)).toEqual([1200, 1200])
    for (let minutes = 0; minutes < 120; minutes += 10) {
      state.mapped.clear()
      await clock.advance(10 * MINUTE_MS)
      // The earlier external port is requested again.
      expect([...state.mapped.values()].map(({ externalPort }) => externalPort)).toEqual([10_222, 10_300])
    }
    expect(heard).toHaveLength(1)
    expect(state.finds).toBe(1)
    await mapper.stop()
    expect(state.mapped.size).toBe(0)
    expect(warnings()).toEqual([])
  })

  it('maps nothing after its stop, even if the router has just answered', async () => {
    const { state, clock, heard, mapper, start } = setUp()
    const ip = Promise.withResolvers<string>()
    state.externalIp = () => ip.promise
    await start()
    ip.resolve(state.ip)
    await mapper.stop()
    await clock.advance(60 * MINUTE_MS)
    expect(state.finds).toBe(1)
    expect(state.mapped.size).toBe(0)
    expect(heard).toEqual([])
  })

  it('renews mappings before the time that the router granted, and permanent mappings too', async () => {
    const { state, clock, start } = setUp()
    state.lifetimeS = 120
    await start()
    state.mapped.clear()
    await clock.advance(MINUTE_MS)
    expect([...state.mapped.keys()]).toEqual(['tcp'])
    state.lifetimeS = 0
    await clock.advance(MINUTE_MS)
    state.mapped.clear()
    await clock.advance(9 * MINUTE_MS)
    expect(state.mapped.size).toBe(0)
    await clock.advance(MINUTE_MS)
    expect(state.mapped.size).toBe(1)
  })

  it('warns once without a router, and finds a router that appears later', async () => {
    const { state, clock, heard, start, warnings } = setUp()
    state.isThere = false
    await start(9300)
    await clock.advance(30 * MINUTE_MS)
    expect(heard).toEqual([])
    expect(warnings()).toHaveLength(1)
    expect(warnings()[0]).toContain('nobody there')
    state.isThere = true
    await clock.advance(10 * MINUTE_MS)
    expect(heard).toEqual([BOTH])
  })

  it('follows a new address of the router, and withdraws it when the mappings have expired', async () => {
    const { state, clock, heard, start, warnings } = setUp()
    await start(9300)
    state.ip = '203.0.113.8'
    await clock.advance(10 * MINUTE_MS)
    expect(heard[1]).toEqual({ ...BOTH, ip: '203.0.113.8' })
    state.isThere = false
    await clock.advance(15 * MINUTE_MS)
    expect(heard).toHaveLength(2)
    await clock.advance(15 * MINUTE_MS)
    expect(heard.slice(2)).toEqual([undefined])
    expect(warnings()).toHaveLength(1)
  })

  it('keeps one mapped port if the other is refused', async () => {
    const { state, clock, heard, start, warnings } = setUp()
    state.refused.add('udp')
    await start(9300)
    expect(heard).toEqual([{ ...BOTH, udpPort: undefined }])
    expect(warnings()).toHaveLength(1)
    state.refused.clear()
    await clock.advance(10 * MINUTE_MS)
    expect(heard[1]).toEqual(BOTH)
  })

  it.each(['192.168.1.7', '10.0.0.1', '100.64.3.4', '0.0.0.0'])(
    'does not announce the router address %s as public',
    async (ip) => {
      const { state, clock, heard, mapper, start, warnings } = setUp()
      state.ip = ip
      await start(9300)
      await clock.advance(30 * MINUTE_MS)
      expect(heard).toEqual([])
      expect(warnings()).toHaveLength(1)
      expect(warnings()[0]).toContain('behind another router')
      await mapper.stop()
      expect(state.mapped.size).toBe(0)
    },
  )

  it('stops at once while it searches for the router', async () => {
    const { logger, lines } = recordedLog()
    const heard: unknown[] = []
    const mapper = createPortMapper({
      findNatRouter: (signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
      clock: new ManualClock(0),
      logger,
      onChange: (address) => heard.push(address),
    })
    mapper.start({ tcp: 9222, udp: undefined })
    await mapper.stop()
    expect([heard, lines]).toEqual([[], []])
  })
})
