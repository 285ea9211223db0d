import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { settableClock } from '../testUtils/clocks.ts'
import { createLivenessMonitor, type WatchedConnection } from './liveness.ts'

const OPTIONS = { silentMs: 2_000, answerMs: 1_000, closeMs: 8_000 }

/** The members that the monitor uses. The test controls bytes and ping answers. */
class FakeConnection implements WatchedConnection {
  readonly remotePeer: string
  readonly remoteAddr = '/ip4/127.0.0.1/tcp/1'
  readonly maConn: { socket: Socket }
  status = 'open'
  bytesRead = 0
  answers: boolean
  pings = 0

  constructor(peer: string, { answers = true } = {}) {
    this.remotePeer = peer
    this.answers = answers
    const socket = new Socket()
    Object.defineProperty(socket, 'bytesRead', { get: () => this.bytesRead })
    this.maConn = { socket }
  }
  newStream = (): Promise<never> => {
    this.pings += 1
    // A refusal of the protocol is an answer.
    if (this.answers) return Promise.reject(new Error('protocol not supported'))
    return new Promise(() => {})
  }
  abort(): void {
    this.status = 'closed'
  }
}

function setUp(...connections: FakeConnection[]) {
  const inner = new ManualClock(0)
  const { clock, set } = settableClock(inner)
  const suspected = new Set<string>()
  const monitor = createLivenessMonitor(
    {
      watched: () => connections,
      onSuspect: (peer) => suspected.add(peer),
      onAlive: (peer) => suspected.delete(peer),
      clock,
      logger: silentLogger,
    },
    OPTIONS,
  )
  monitor.start()
  return {
    suspected,
    /** Replaces the watched connections. */
    watch: (...others: FakeConnection[]) => connections.splice(0, connections.length, ...others),
    check: (connection: FakeConnection) => monitor.check(connection),
    async pass(ms: number, each = () => {}) {
      for (let step = 0; step < ms; step += 100) {
        await inner.advance(100)
        each()
      }
    },
    /** The process was suspended, or the clock was set back. */
    sleep: set,
  }
}

describe('createLivenessMonitor', () => {
  it('pings a silent peer, and accepts an answer', async () => {
    const connection = new FakeConnection('a')
    const { pass, suspected } = setUp(connection)
    await pass(1_900)
    expect(connection.pings).toBe(0)
    await pass(30_000)
    expect(connection.pings).toBeGreaterThan(8)
    expect(connection.pings).toBeLessThan(17)
    expect(connection.status).toBe('open')
    expect([...suspected]).toEqual([])
  })

  it('suspects a connection without an answer after three seconds, and closes it after eight', async () => {
    const connection = new FakeConnection('a', { answers: false })
    const { pass, suspected } = setUp(connection)
    await pass(2_900)
    expect([...suspected]).toEqual([])
    await pass(700)
    expect([...suspected]).toEqual(['a'])
    expect(connection.status).toBe('open')
    await pass(5_000)
    expect(connection.status).toBe('closed')
    expect(connection.pings).toBe(1)
  })

  it('counts any received byte as a sign of life, as on a slow link with a large block', async () => {
    const connection = new FakeConnection('a', { answers: false })
    const { pass, suspected } = setUp(connection)
    await pass(30_000, () => {
      connection.bytesRead += 1
    })
    expect(connection.pings).toBe(0)
    await pass(3_600)
    expect([...suspected]).toEqual(['a'])
    connection.bytesRead += 1
    await pass(600)
    expect([...suspected]).toEqual([])
  })

  it('does not count the sleep of this process as silence of peers', async () => {
    const connection = new FakeConnection('a', { answers: false })
    const { pass, sleep, suspected } = setUp(connection)
    await pass(1_000)
    sleep(60_000)
    await pass(1_500)
    expect(connection.status).toBe('open')
    expect([...suspected]).toEqual([])
    await pass(10_000)
    expect(connection.status).toBe('closed')
  })

  it('does not count time in which a connection was not watched as silence', async () => {
    const connection = new FakeConnection('a')
    const { pass, watch, suspected } = setUp(connection)
    await pass(1_000)
    watch()
    await pass(60_000)
    watch(connection)
    await pass(5_000)
    expect(connection.status).toBe('open')
    expect([...suspected]).toEqual([])
    connection.answers = false
    await pass(10_000)
    expect(connection.status).toBe('closed')
  })

  it('detects a dead link without delay after the clock was set back', async () => {
    const connection = new FakeConnection('a', { answers: false })
    const { pass, sleep } = setUp(connection)
    await pass(1_000)
    sleep(-600_000)
    await pass(10_000)
    expect(connection.status).toBe('closed')
  })

  it('does not suspect a peer with one live connection', async () => {
    const [dead, living] = [new FakeConnection('a', { answers: false }), new FakeConnection('a')]
    const { pass, suspected } = setUp(dead, living)
    await pass(10_000)
    expect([...suspected]).toEqual([])
    expect([dead.status, living.status]).toEqual(['closed', 'open'])
  })

  it('closes an old connection of a peer that opened a new one, unless the old one is alive', async () => {
    const [dead, living, talking] = [new FakeConnection('a'), new FakeConnection('a'), new FakeConnection('a')]
    dead.answers = false
    talking.answers = false
    const { pass, check } = setUp()
    for (const connection of [dead, living, talking]) check(connection)
    await pass(2_500, () => {
      talking.bytesRead += 1
    })
    expect(dead.status).toBe('open')
    await pass(1_000)
    expect([dead, living, talking].map(({ status }) => status)).toEqual(['closed', 'open', 'open'])
    await pass(60_000)
    expect([living.status, living.pings, talking.status]).toEqual(['open', 1, 'open'])
  })

  it('pings each connection less often when there are many', async () => {
    const connections = Array.from({ length: 20 }, (_, index) => new FakeConnection(`p${index}`))
    const { pass } = setUp(...connections)
    await pass(60_000)
    const pings = connections.reduce((sum, connection) => sum + connection.pings, 0)
    expect(pings).toBeGreaterThanOrEqual(100)
    expect(pings).toBeLessThanOrEqual(120)
  })
})
